# The goals of memory (cuda/counters/goal.c), in bytes a parameter of the fullest rank: the printed
# goal is the formula, b is (slots + 2) buckets of fp32 and what may come early, and the peak that
# simdev counts is within both. spec: STEP-1, PART-5
# inputs: build/zeroproof build/zeroproof-simdev-counters tests/fixtures/lib.sh
. tests/fixtures/lib.sh
[ "${SAN:-0}" = 1 ] && exit 0 # the sanitized build has no zeroproof-simdev

bucket=131072 # bytes of fp32: 32Ki elements
goal() { # goal D FORMULA SLOTS OPTIONS...: FORMULA in jq; SLOTS: of b
  D=$1
  formula=$2
  slots=$3
  shift 3
  json "memory_with_dp_${D}_$(echo "$*" | tr -d '\n' | tr -c 'a-z0-9' _)" "$D as \$D | .[0] |
    .memory.goal as \$g | .memory.agrees and .dp == \$D and
    (\$g.bytes / \$g.parameters - ($formula) | fabs) < 1e-9 and
    \$g.parameters == .parameters / \$D and
    \$g.b == ($slots + 2) * $bucket + .memory.by_use[\"staged gradients\"].allocated / \$D and
    \$g.used == .memory.device_peak / \$D and \$g.verdict == \"within\" and
    \$g.used <= \$g.bytes + \$g.b" counters --json --dp "$D" "$@"
}

# Stages 0 and 1 have no slots. Stage 2: two; with two flat groups three.
for D in 2 8; do
  for sums in native ordered; do
    goal $D 18 0 --sums $sums --stage 0
    goal $D '6 + 12 / $D' 0 --sums $sums --stage 1
    goal $D '2 + 16 / $D' 2 --sums $sums --stage 2
    goal $D '2 + 16 / $D' 2 --sums $sums --stage 2 --fp32-gradients
    goal $D '2 + 16 / $D' 5 --sums $sums --stage 2 --slots 5
    goal $D '2 + 16 / $D' 3 --sums $sums --stage 2 --groups 2
  done
  goal $D '2 + 16 / $D' 2 --stage 2 --precision fp16
done
goal 1 18 2 --stage 2
goal 8 '2 + 16 / $D' 2 --fp32-gradients --in-place

# Exact sums are packed; no scratch has limbs, so that a small D is no exception.
for D in 1 2 8; do
  goal $D '2 + 52 / $D' 2 --sums exact
  goal $D '2 + 24 / $D' 2 --sums exact --precision fp16
  goal $D '2 + 52 / $D' 2 --sums exact --fp32-gradients
  goal $D '2 + 52 / $D' 2 --sums exact --precision fp16 --fp32-gradients
done
expect 0 'goal: 8.5000 and b, [0-9]+ bytes: within$' the_goal_is_printed \
  counters --sums exact --dp 8

# Messages between pipeline stages are no part of it.
json pipeline_stages_have_the_goal '.[0] | .memory.goal.verdict == "within" and
  .memory.goal.used == (.memory.device_peak - .memory.by_use.messages.allocated) / .ranks and
  .memory.by_use.messages.allocated > 0' counters --json --pp 2 --dp 2 --sums ordered
json replicas_share_less '.[0].memory.goal | .verdict == "within" and
  .bytes / .parameters == 10' counters --json --dp 4 --replicas 2
json there_is_no_goal_in_fp32 '.[0].memory.goal == null' \
  counters --json --precision fp32 --dp 2
json there_is_no_goal_for_offload '.[0].memory.goal == null' counters --json --offload --dp 2
json there_is_no_goal_for_exact_sums_at_stage_1 '.[0].memory.goal == null' \
  counters --json --sums exact --stage 1 --dp 2
finish
