# The reference engine's acceptance test at full length: 50 steps on a user's text, dp 3 × pp 2
# and dp 2 × pp 3, stages 1 and 2, bf16 and fp16, with skipped and growth steps, equal to serial;
# under exact, six splits of one global batch end in the same bits, and so do six MPI processes.
# spec: RED-4, RED-5, STEP-6, SCALE-3, SCALE-4, STEP-7, STEP-8
# inputs: build/zeroproof tests/fixtures/lib.sh LICENSE
. tests/fixtures/lib.sh
export TMPDIR="$tmp" # session folders of mpirun: see tests/fixtures/job.sh

# Under sanitizers the same laws are checked on test_train.sh's small shapes.
[ "${SAN:-0}" = 1 ] && exit 0
cat LICENSE >"$tmp/text"
grew='[.steps[].log2_scale] | [.[1:], .[:-1]] | transpose | map(.[0] > .[1]) | any'
skipped='[.steps[].skipped] | any'
equal='.verify.ok and .verify.runs[0].equal'

# bf16 overflows only at scales near the end of its range, and with a wild learning rate.
# shellcheck disable=SC2034 # read by eval
fp16="--precision fp16 --loss-scale dynamic:init=65536,window=7,hysteresis=1"
init=42535295865117307932921825928971026432 # 2^125
max=85070591730234615865843651857942052864 # 2^126
# shellcheck disable=SC2034 # read by eval
bf16="--precision bf16 --lr 1 --clip 0 --loss-scale \
  dynamic:init=$init,max=$max,window=2,hysteresis=1"
for split in "3 2 4" "2 3 6"; do
  set -- $split
  for stage in 1 2; do
    for kind in bf16 fp16; do
      flags=
      eval "flags=\$$kind"
      json "${kind}_dp$1_pp$2_stage${stage}_equals_serial" \
        "$equal and (.steps | length == 50) and ($skipped) and ($grew)" \
        train --data "$tmp/text" --steps 50 --dp "$1" --pp "$2" --micro-batches "$3" \
        --stage $stage --reduce ordered --verify --json $flags
    done
  done
done

first=
for split in "1 1 12" "2 1 6" "3 2 4" "6 2 2" "4 3 3" "12 2 1"; do
  set -- $split
  bits=$("$zp" train --data "$tmp/text" --steps 20 --dp "$1" --pp "$2" --micro-batches "$3" \
    --stage $(($1 % 3)) --bucket $((1000 + $1 * 77)) --reduce exact --json | jq -r .bits)
  [ -n "$first" ] || first=$bits
  [ -n "$bits" ] && [ "$bits" = "$first" ]
  verdict $? "exact_dp$1_pp$2_ends_in_the_same_bits" "$bits, not $first"
done
bits=$("$zp" launch -n 6 train --data "$tmp/text" --steps 20 --dp 3 --pp 2 --micro-batches 4 \
  --stage 2 --reduce exact --json 2>"$tmp/err" | jq -r .bits)
[ -n "$bits" ] && [ "$bits" = "$first" ]
verdict $? six_processes_end_in_the_same_bits "$bits, not $first: $(head -c 300 "$tmp/err")"
finish
