# The machine's file that gpu-check writes from its measurements is one that `plan --time --machine`
# reads, and has the measured figures.
# inputs: build/zeroproof build/zeroproof-simdev cuda/gpu/machine_file.py cuda/gpu/facts.py
# inputs: cuda/gpu/process.py cuda/cost/machines tests/runner/guard.py tests/fixtures/lib.sh
. tests/fixtures/lib.sh
[ "${SAN:-0}" = 1 ] && exit 0 # the sanitized build has no zeroproof-simdev

write() { # write GPU SIZE: machine.json in $tmp, or why not in $tmp/err
  PYTHONPATH=cuda/gpu python3 -B - "$1" "$2" >"$tmp/machine.json" 2>"$tmp/err" <<'END'
import json
import sys

import machine_file

gpu, size = sys.argv[1], float(sys.argv[2])
row = {"elements": size, "clock": "events", "tensors": 1, "dtype": "bf16"}
rows = [{**row, "kernel": "scatter", "gb_s": s} for s in (3000.0, 3500.0, 3600.0)]
rows += [{**row, "kernel": "scatter", "gb_s": 9000.0, "elements": size / 2}]
rows += [{**row, "kernel": "update", "gb_s": 9000.0}]
rows += [{**row, "kernel": "copy in several launches", "ms": 2.5, "base_ms": 2.25, "launches": 126}]
facts = {"gpu": gpu, "date": "2026-11-28", "memory": "143771 MiB"}
print(json.dumps(machine_file.of(facts, rows)))
END
}

for gpu in "NVIDIA H200" "NVIDIA H100 80GB HBM3" "another"; do
  write "$gpu" 2.5e9
  verdict $? "written_for:$gpu" "$(tail -1 "$tmp/err")"
  jq -e '.figures.memory.value == 3500e9 and (.figures.kernel.value * 1e6 | round) == 2 and
    .capacity == 143771 * 1048576 and (.figures.memory.source | startswith("measured"))' \
    "$tmp/machine.json" >/dev/null
  verdict $? "it_has_what_was_measured:$gpu" "$(head -c 300 "$tmp/machine.json")"
  expect 0 'efficiency' "plan_reads_it:$gpu" plan --time --machine "$tmp/machine.json" --dp 2
done
jq -e '.figures.flops.source | startswith("60 % of 989")' "$tmp/machine.json" >/dev/null
verdict $? what_was_not_measured_has_its_source "$(head -c 300 "$tmp/machine.json")"

write "NVIDIA H200" 25e6
[ $? -ne 0 ] && grep -q 'no kernel was measured on arrays that are large enough' "$tmp/err"
verdict $? small_arrays_are_not_enough "$(tail -1 "$tmp/err")"
finish
