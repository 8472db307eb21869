#!/bin/sh
# The wheel in a bare environment: no compiler, no jansson, no Open MPI. README's examples run; the
# programs of zig's clang and of this build's compiler give the same bits.
# inputs: @make python conformance build/zeroproof tests/fixtures/lib.sh @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
unset PYTHONPATH ZEROPROOF_LIBRARY
# Nothing to compare under sanitizers: the plain `make test` does it.
[ "${SAN:-0}" = 1 ] && exit 0
if ! sh conformance/locks/venv.sh wheel wheel >/dev/null 2>"$tmp/err" ||
  ! check=$(sh conformance/locks/venv.sh check check 2>"$tmp/err") ||
  ! pytest=$(sh conformance/locks/venv.sh pytest pytest 2>"$tmp/err"); then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
sh python/wheel.sh "$tmp" 0.1.0 x86_64 >"$tmp/log" 2>&1
verdict $? the_wheel_is_built "$(tail -n 5 "$tmp/log")"
grep -q 'py3-none-manylinux_2_28_x86_64.whl: .* needs no more than manylinux_2_' "$tmp/log"
verdict $? auditwheel_and_twine_accept_it "$(tail -n 5 "$tmp/log")"

# PyTorch and pytest are those of the environments at hand: nothing is downloaded.
python3 -m venv "$tmp/venv" &&
  "$tmp/venv/bin/pip" install --quiet --no-index --no-deps "$tmp"/wheel/dist/*.whl >"$tmp/log" 2>&1
verdict $? it_is_installed_without_an_index "$(tail -n 5 "$tmp/log")"
for program in sh env; do
  ln -s "$(command -v $program)" "$tmp/venv/bin/$program"
done
mkdir "$tmp/work"

bare() { # bare COMMAND...: without this machine's programs and settings; its output in $tmp/out
  (cd "$tmp/work" && timeout 500 env -i HOME="$tmp/work" PATH="$tmp/venv/bin" \
    GLOO_SOCKET_IFNAME=lo PYTHONWARNINGS=ignore "$@") >"$tmp/out" 2>&1
}

said() { # said NAME PATTERN: the last command succeeded and printed it
  code=$?
  [ $code -eq 0 ] && grep -q -e "$2" "$tmp/out"
  verdict $? "$1" "exit code $code: $(tail -n 5 "$tmp/out")"
}

for other in "$python" "$pytest"; do
  echo "${other%/bin/python}"/lib/python*/site-packages
done >"$(echo "$tmp"/venv/lib/python*/site-packages)/others.pth"
bare zeroproof --version
said the_command_runs '^zeroproof 0.1.0'
bare python -c 'import zeroproof; print(zeroproof.__version__, zeroproof.provenance())'
said provenance_names_the_claims "0.1.0 .*'claims': '$(sha256sum CLAIMS.md | cut -c1-64)'"
bare zeroproof sim --dp 2 --pp 2 --steps 2
said sim_runs "equal serial's bit for bit"
bare zeroproof check --adapter 'zeroproof adapter' --seconds 0 --brief
code=$?
[ $code -eq 2 ] && grep -q '^zeroproof check: jsonschema is missing .*: pip .* json' "$tmp/out"
verdict $? check_names_its_missing_extra "exit code $code: $(cat "$tmp/out")"
# the packages of the extra, as `pip install zeroproof[check]` would add them
echo "${check%/bin/python}"/lib/python*/site-packages \
  >"$(echo "$tmp"/venv/lib/python*/site-packages)/check.pth"
bare pip install --no-index --find-links "$tmp/wheel/dist" 'zeroproof[check]'
said the_extra_is_satisfied 'jsonschema>='
bare zeroproof check --adapter 'zeroproof adapter' --seconds 0 --brief --out report
said check_runs ' 0 failed'
grep -q '<h2 id="Causes-of-failures">' "$tmp/work/report/report.html"
verdict $? it_writes_a_page "$(ls "$tmp/work/report")"
bare zeroproof explain STAT-4
said explain_runs 'RN₆₄'
bare zeroproof launch -n 2 train
grep -q 'without MPI' "$tmp/out"
verdict $? launch_says_what_is_missing "$(cat "$tmp/out")"
if command -v objdump >/dev/null; then
  objdump -p "$tmp"/venv/lib/python*/site-packages/zeroproof/_install/bin/zeroproof |
    grep NEEDED | grep -qv 'lib[cm]\.so\|libpthread\|libdl\|ld-linux'
  [ $? -eq 1 ]
  verdict $? only_the_c_library_is_needed
fi

snippet() { # snippet NAME: the code block of python/README.md that begins with "# NAME"
  sed -n "/^# $1/,/^\`\`\`/p" python/README.md | grep -v '^```'
}

torchrun="python -m torch.distributed.run --nproc-per-node 2 --rdzv-backend c10d"
torchrun="$torchrun --rdzv-endpoint localhost:0"
snippet clip.py >"$tmp/work/clip.py"
# shellcheck disable=SC2086 # a list of options
bare $torchrun --redirects 1 --log-dir clip clip.py && # torchrun mixes the ranks' output: apart
  find "$tmp/work/clip" -name stdout.log -exec cat {} + >>"$tmp/out" &&
  [ "$(grep -c '^[01] [0-9.]*$' "$tmp/out")" = 2 ]
said ten_lines_clip_on_two_ranks_and_both_print_a_norm '^1 [0-9.]*$'
snippet train.py >"$tmp/work/sharded.py"
# shellcheck disable=SC2086 # a list of options
bare $torchrun sharded.py
said the_engine_trains_on_two_ranks '^0x1[.0-9a-f]*p-[0-9]*$'
grep '^0x1' "$tmp/out" >"$tmp/two"

# together RANKS PROGRAM...: from the wheel, scripts with their arguments. Each rank is one process,
# which runs them one after the other, as most of a script's time is the import of torch. Each has
# keys of its own in the store, by which ranks find each other. $tmp/program.N: the output of the
# N-th.
together() {
  ranks=$1
  shift
  bare python -m torch.distributed.run --nproc-per-node "$ranks" --rdzv-backend c10d \
    --rdzv-endpoint localhost:0 programs.py "$@"
  ended=$?
  rm -f "$tmp"/program.*
  awk -v out="$tmp/program." '/^program / { close(out n); n++ } { print > (out n+0) }' "$tmp/out"
}
cat >"$tmp/work/programs.py" <<'X'
import os
import runpy
import sys

import torch.distributed as dist

begin, store = dist.init_process_group, next(dist.rendezvous("env://"))[0]
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
for number, words in enumerate(sys.argv[1:]):
    if rank == 0:
        print("program", words, flush=True)
    own = dist.PrefixStore(f"program {number}", store)
    dist.init_process_group = lambda name, own=own: begin(
        name, store=own, rank=rank, world_size=world
    )
    sys.argv = words.split()
    runpy.run_path(sys.argv[0], run_name="__main__")
X

same() { # same NAME LINES N: all succeeded, and the N-th ends in the last lines of 1 rank's
  grep -e 'loss .* 0x1' -e '^parameters [0-9a-f]\{16\}$' "$tmp/program.$3" >"$tmp/bits"
  [ "$ended" -eq 0 ] && grep -q parameters "$tmp/bits" && grep -q loss "$tmp/bits" &&
    tail -n "$2" "$tmp/one.$example" | cmp -s - "$tmp/bits"
  verdict $? "$1" "exit code $ended: $(tail -n 3 "$tmp/out")"
}

cp python/examples/*.py "$tmp/work"
for ranks in 1 3 2; do
  set -- mlp.py gpt.py accumulate.py
  [ "$ranks" -eq 3 ] && set -- "$@" 'accumulate.py --epochs 3 --checkpoint saved' sharded.py
  [ "$ranks" -eq 2 ] && set -- "$@" 'accumulate.py --checkpoint saved'
  together $ranks "$@"
  number=0
  for example in mlp gpt accumulate; do
    number=$((number + 1))
    [ "$ranks" -eq 1 ] &&
      grep -e 'loss .* 0x1' -e '^parameters' "$tmp/program.$number" >"$tmp/one.$example"
    same "${example}_on_${ranks}_ranks_has_the_bits_of_one" 99 $number
  done
  if [ "$ranks" -eq 3 ]; then
    [ "$ended" -eq 0 ] && [ "$(wc -l <"$tmp/two")" = 5 ] &&
      grep '^0x1' "$tmp/program.5" | cmp -s - "$tmp/two"
    verdict $? three_ranks_have_the_same_norms "$(head -c 500 "$tmp/out")"
  elif [ "$ranks" -eq 2 ]; then
    same a_run_on_3_ranks_is_continued_on_2_with_the_bits_of_one 3 4
  fi
done

cp tests/python/train.py "$tmp/work"
# shellcheck disable=SC2086 # a list of options
bare $torchrun -m zeroproof.trace --out run -- train.py
bare zeroproof trace check run
said a_recorded_script_is_judged 'records of 2 ranks: consistent'
snippet my_adapter.py >"$tmp/work/my_adapter.py"
# the steps of the workflow in the README; pip finds the wheel, torch and pytest installed
cp "$tmp"/wheel/dist/*.whl "$tmp/work"
printf '#!/bin/sh\nexec python -m pytest "$@"\n' >"$tmp/venv/bin/pytest"
chmod +x "$tmp/venv/bin/pytest"
sed -n 's/^ *- run: //p' python/README.md >"$tmp/work/steps"
bare sh -e steps
said the_steps_of_the_workflow_pass ' passed'
[ "$(wc -l <"$tmp/work/steps")" = 2 ] && grep -q '<testsuite ' "$tmp/work/zeroproof.xml"
verdict $? they_write_junit "$(cat "$tmp/work/steps")"

cp LICENSE "$tmp/work/text"
for precision in fp32 bf16 fp16; do
  for reduce in ordered exact; do
    set -- train --data "$tmp/work/text" --steps 4 --json --precision $precision --reduce $reduce
    a=$("$zp" "$@" | jq -r .bits)
    b=$(bare zeroproof "$@"; jq -r .bits "$tmp/out")
    [ -n "$a" ] && [ "$a" = "$b" ]
    verdict $? "same_bits_${precision}_$reduce" "$a and $b"
  done
done
exit "$bad"
