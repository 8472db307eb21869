#!/bin/sh
# zeroproof.torch: the exact norm under layouts of 1 to 8 ranks; what is refused; four faults.
# inputs: build/libzeroproof.so.* python ref/num/exact.h tests/fixtures/lib.sh tests/python
# inputs: conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
"$python" -W ignore tests/python/norm_test.py
code=$?
"$python" -W ignore python/examples/pipeline_drift.py --steps 40 --json >"$tmp/drift"
verdict $? the_example_of_a_pipeline_runs
"$python" -c 'import json, sys
ours = json.load(open(sys.argv[1]))["zeroproof"]
sys.exit(ours["norms differ first in step"] is not None or ours["steps with equal losses"] != 40)' \
  "$tmp/drift"
verdict $? pipeline_and_unsplit_run_have_equal_norms_and_losses "$(cat "$tmp/drift")"
[ "$("$python" -W ignore python/examples/norms.py zeroproof |
  grep -o '"42c8c0c0"' | wc -l)" = 8 ]
verdict $? the_table_of_norms_is_reproduced
exit $((code | bad))
