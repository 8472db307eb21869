#!/bin/sh
# The reference job of the cost model as a table in Markdown: reference.sh [COMMAND]
#
# 7 B parameters, 4 micro-batches of 4,096 tokens, buckets of 40 M elements, pp = 1, native sums;
# the last two columns: with --partial-gather.
set -eu
cd "$(dirname "$0")/../.."
command=${1:-build/zeroproof}
echo '| ZeRO stage | dp | step, ms | bound, ms | bound by | efficiency | exposed, ms |' \
  'partial gather: step, ms | efficiency |'
echo '|---|---|---|---|---|---|---|---|---|'
for stage in 1 2; do
  for dp in 8 64 512; do
    set -- --stage $stage --dp $dp --micro-batches 4 --bucket 40000000
    {
      "$command" plan --time --json "$@"
      "$command" plan --time --json "$@" --partial-gather
    } | jq -rs '
      def ms: . * 1e5 | round / 100;
      def share: . * 1000 | round / 1000;
      .[1] as $partial | .[0] |
      (if .bound_seconds == .compute_seconds then "compute"
       elif .bound_seconds == .communication_seconds then "communication"
       else "memory" end) as $of |
      "| \(.stage) | \(.dp) | \(.step_seconds | ms) | \(.bound_seconds | ms) | \($of) | " +
      "\(.efficiency | share) | \(.exposed_seconds | ms) | " +
      "\($partial.step_seconds | ms) | \($partial.efficiency | share) |"'
  done
done
