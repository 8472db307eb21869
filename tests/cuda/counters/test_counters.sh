# `zeroproof counters`: the table of its seven configurations equals tests/cuda/counters/table.txt,
# which is the budget: a figure that changes in either direction must be committed. ACCEPT=1 writes
# the file. Each configuration that the table calls "within" is held to 1.15 of the ideal traffic,
# each step to its bound of launches where the table says so; nothing is allocated after the first
# step, and the memory is the plan's and what simdev counts, to the byte. spec: STEP-1
# inputs: build/zeroproof build/zeroproof-simdev-counters tests/fixtures/lib.sh
# inputs: tests/cuda/counters/table.txt
. tests/fixtures/lib.sh
[ "${SAN:-0}" = 1 ] && exit 0 # the sanitized build has no zeroproof-simdev
table=tests/cuda/counters/table.txt

limited "$zp" counters >"$tmp/table" 2>"$tmp/err"
verdict $? the_command_succeeds "$(head -c 300 "$tmp/err")"
[ "${ACCEPT:-0}" = 1 ] && cp "$tmp/table" "$table"
diff "$table" "$tmp/table" >"$tmp/diff"
verdict $? the_table_is_the_committed_one \
  "ACCEPT=1 sh $0 writes it; $(head -n 6 "$tmp/diff" | tr '\n' ' ')"

limited "$zp" counters --json >"$tmp/all.json" 2>"$tmp/err"
verdict $? json_is_printed "$(head -c 300 "$tmp/err")"
is() { # is NAME FILTER: jq's FILTER is true of all.json
  jq -en "input | ($2)" "$tmp/all.json" >"$tmp/jq" 2>&1
  verdict $? "$1" "$2: $(head -c 300 "$tmp/jq" | tr '\n' ' ')"
}

# ---- Budgets

is seven_configurations_are_counted '[.[] | "\(.sums) \(.stage) \(.micro_batches) \(.gradients)"] ==
  ["native 2 1 fp32-in-place", "native 2 1 bf16", "native 2 8 bf16", "ordered 2 1 bf16",
  "native 1 8 bf16", "exact 2 1 bf16", "exact 2 1 fp16"]'
is fp32_gradients_in_place_have_34_bytes_over_D '.[0] | .dp == 4 and .traffic.ideal == 34 / 4 and
  .traffic.ratio <= 1.15 and .traffic.by_use.add.device_read == 0'
is the_memory_agrees 'all(.[].memory; .agrees and .device == .device_peak and
  .device == ([.by_use[].allocated] | add) and .pinned == .pinned_peak and
  all(.by_use[]; .planned == null or .planned == .allocated))'
is nothing_is_created_after_the_first_step 'all(.[].host; .created_after_first_step == 0)'
is an_announcement_takes_the_lock_once 'all(.[].host; .announcement_most.locks == 1 and
  .announcements_all.locks == .announcements)'
is the_step_s_calls_are_those_by_name 'all(.[].host; .step.calls == ([.calls_by_name[]] | add))'
is the_own_bytes_are_the_sum_of_their_uses 'all(.[].traffic; .own_bytes ==
  ([.by_use | to_entries[] | select(.key != "copied" and .key != "staged") | .value |
    .device_read + .device_written] | add))'
is the_ratio_is_that_of_the_bytes 'all(.[]; (.traffic.own_bytes / .parameters / .traffic.ideal -
  .traffic.ratio | fabs) < 1e-12)'

# The verdicts of the committed table, against the measured numbers.
awk '/^  (native|ordered|exact) +[0-9]/ {print $1, $2, $3, $4, $8, $(NF - 4), $NF}' \
  "$table" >"$tmp/rows"
i=0
while read -r sums stage m gradients ratio launches memory; do
  at="${sums}_stage_${stage}_M_${m}_$gradients"
  case $ratio in
  within) is "${at}:traffic_is_at_most_1.15_of_the_ideal" ".[$i].traffic.ratio <= 1.15" ;;
  *) is "${at}:traffic_EXCEEDS_1.15_of_the_ideal" ".[$i].traffic.ratio > 1.15" ;;
  esac
  case $launches in
  within) is "${at}:launches_are_at_most_2B+2MB+10" ".[$i].launches | .own <= .bound" ;;
  *) is "${at}:launches_EXCEED_2B+2MB+10" ".[$i].launches | .own > .bound" ;;
  esac
  case $memory in
  within) is "${at}:memory_is_within_its_goal" ".[$i].memory.goal | .used <= .bytes + .b" ;;
  *) verdict 1 "${at}:memory_has_a_goal" "$memory" ;;
  esac
  is "${at}:the_bound_is_2B+2MB+10" \
    ".[$i] | .launches.bound == 2 * .buckets + 2 * .micro_batches * .buckets + 10 and
     .launches.further_sums == 0"
  i=$((i + 1))
done <"$tmp/rows"
[ $i -eq 7 ]
verdict $? every_row_has_a_verdict "$i rows"

# ---- Other configurations

one() { # one NAME FILTER OPTIONS...: of the only configuration
  name=$1
  filter=$2
  shift 2
  json "$name" ".[0] | .memory.agrees and .host.created_after_first_step == 0 and ($filter)" \
    counters --json "$@"
}
one offload_shows_pinned_memory '.offload and .traffic.ideal == null and
  .memory.pinned > 12 * .parameters / 4 and .memory.by_use["masters and moments"].allocated == 0 and
  .traffic.by_use.mean.pinned_written > 0 and .traffic.by_use.update.pinned_read > 0' --offload
one pipeline_stages '.pp == 2 and .ranks == 4 and .memory.by_use.messages.allocated > 0' \
  --pp 2 --dp 2 --micro-batches 3
one tensor_parallelism '.tp == 2 and .traffic.ideal == null' --tp 2 --dp 2
one replicas_of_the_state '.traffic.ideal == null' --dp 4 --replicas 2
one stage_0 '.stage == 0 and .traffic.by_use.copied.device_read == 0' --stage 0 --dp 2
one fp32_gradients_are_not_widened '.traffic.by_use.reduce.device_read == 0' \
  --precision fp32 --dp 2
one gradients_in_place_at_stage_1_are_not_added '.traffic.ideal == 34 / 2 and
  .traffic.by_use.copied.device_read == 0 and .traffic.ratio <= 1.15' --dp 2 \
  --fp32-gradients --in-place --stage 1 --micro-batches 3
one fp32_gradients_of_the_caller_are_copied '.gradients == "fp32" and .traffic.ideal == 17 and
  .traffic.by_use.copied.device_read > 0' --dp 2 --fp32-gradients
# 253 and 259 elements of four layers leave 3 and 61 of padding, which are set to zero.
one gradients_in_place_are_not_copied_where_entries_are_within_buckets '.traffic.ideal == 8.5 and
  .traffic.ratio <= 1.15 and .traffic.by_use.copied.device_read == 0 and
  .traffic.by_use.copied.device_written == .ranks * 4 * (3 + 61) * 4 and
  .traffic.by_use.staged.device_read == 0' --bucket 1Mi --fp32-gradients --in-place
one one_rank '.ranks == 1 and .traffic.sent_bytes == 0' --dp 1
one reduce_exact_selects_exact_sums '.sums == "exact"' --reduce exact --dp 2
limited "$zp" counters --json --micro-batches 8 >"$tmp/one.json" 2>"$tmp/err"
jq -en 'input[2] as $all | input[0] | . == $all' \
  "$tmp/all.json" "$tmp/one.json" >/dev/null 2>"$tmp/jq"
verdict $? a_configuration_counts_the_same_by_itself "$(head -c 300 "$tmp/err")"
expect 0 '^exact sums, ZeRO stage 1, M = 2 ' one_configuration_is_printed_in_full \
  counters --sums exact --stage 1 --micro-batches 2 --dp 2

# Without an alignment of entries, the engine's default, parameters are copied: README.md.
one entries_at_any_element_cost_a_copy_of_the_parameters '.traffic.ratio > 1.15 and
  .traffic.ratio < 1.28 and (.parameters as $n | .traffic.by_use.gather |
  .device_read == 2 * $n and .device_written == 2 * $n)' --entry-align 1
# Launches beyond 2B + 2MB + 10: with offload B, and those of further sums: of each bucket
# (replicas), of a tied entry's two buckets. Entries at any element: gathers have launches.
launches() { # launches MORE OPTIONS...: MORE in jq
  more=$1
  shift
  one "launches_of$(echo "$*" | sed "s|$tmp/||" | tr -d '\n' | tr -c 'a-z0-9' _)" "
    .launches as \$l | .buckets as \$B |
    \$l.bound == 2 * \$B + 2 * .micro_batches * \$B + 10 + ($more) and \$l.own <= \$l.bound" "$@"
}
launches 0 --sums native --dp 4 --replicas 2 --entry-align 1
launches '$B' --sums ordered --dp 4 --replicas 2 --entry-align 1
launches '2 * $B' --sums exact --dp 4 --replicas 2 --entry-align 1
launches '$B' --sums exact --dp 4 --replicas 2 --stage 1 --entry-align 1
launches '$B + 2 * $B' --sums exact --dp 4 --replicas 2 --offload --entry-align 1
launches '$B + $B' --sums ordered --dp 4 --replicas 2 --offload --entry-align 1
launches '$B' --sums exact --offload --entry-align 1
launches '$B' --sums ordered --stage 0 --dp 2 --offload
expect 0 'of at most 73 = 2B \+ 2MB \+ 10 \+ B \(offload\) \+ 18 \(further sums\): within' \
  the_bound_of_launches_is_printed counters --sums exact --dp 4 --replicas 2 --offload
cat >"$tmp/tied.json" <<'END'
{"pp": 2, "dp": 2, "bucket": 32768, "micro_batches": 1, "tied_keys": 1,
 "params": [{"name": "embedding", "numel": 40000, "stage": 0, "tied": 0},
            {"name": "a", "numel": 33000, "stage": 0}, {"name": "b", "numel": 33000, "stage": 1},
            {"name": "head", "numel": 40000, "stage": 1, "tied": 0}]}
END
launches 0 --sums native --config "$tmp/tied.json"
launches 2 --sums ordered --config "$tmp/tied.json"
launches 4 --sums exact --config "$tmp/tied.json"
launches '4 + $B' --sums exact --offload --config "$tmp/tied.json"

cat >"$tmp/model.json" <<'END'
{"dp": 2, "micro_batches": 2, "bucket": 1000,
 "params": [{"name": "a", "numel": 1500}, {"name": "b", "numel": 7, "frozen": true}]}
END
one a_configuration_file '.parameters == 3014 and .buckets == 2 and .traffic.ideal == null' \
  --config "$tmp/model.json"

"$zp" plan --json --all-ranks --reduce ordered --config "$tmp/model.json" >"$tmp/plan.json"
"$zp" counters --json --config "$tmp/model.json" >"$tmp/one.json"
jq -en 'input as $plan | input[0] as $c | [["parameters", "parameters"], ["slots", "bucket slots"],
  ["reduced", "reduced sums"], ["mean", "mean gradient"], ["state", "masters and moments"],
  ["scratch", "scratch of one bucket"]] | all(. as [$p, $use] |
  ([$plan.all_ranks[].memory[$p]] | add) == $c.memory.by_use[$use].allocated)' \
  "$tmp/plan.json" "$tmp/one.json" >"$tmp/jq" 2>&1
verdict $? plan_prints_the_memory_that_is_allocated "$(head -c 300 "$tmp/jq")"

# ---- Refused

expect 0 'Usage: zeroproof counters' help counters --help
expect 2 "'some' is not one of: native ordered exact" wrong_sums counters --sums some
expect 2 '^zeroproof counters: --steps: changes no count' steps_are_refused counters --steps 4
expect 2 '^zeroproof counters: --seed: changes no count' a_seed_is_refused counters --seed 4
expect 2 '^zeroproof counters: --sums: native contradicts reduce exact' contradicting_sums \
  counters --sums native --reduce exact
expect 2 '^zeroproof counters: --dynamic-shapes' dynamic_shapes counters --dynamic-shapes
expect 2 '^zeroproof counters: 128 ranks: at most 64' too_many_ranks counters --dp 128
expect 2 '^zeroproof counters: --pp: at most 64' too_many_stages counters --pp 65
expect 2 '^zeroproof counters: --in-place: .* no place for gradients of 16 bits' \
  nothing_is_lent_in_16_bits counters --in-place
expect 2 '^zeroproof counters: --in-place: .* use --sums=native or ordered' \
  nothing_is_lent_with_exact_sums counters --in-place --sums exact
expect 2 'Too many arguments' an_argument counters what
mkdir "$tmp/alone" && cp build/zeroproof "$tmp/alone"
"$tmp/alone/zeroproof" counters >"$tmp/out" 2>&1
[ $? -eq 3 ] && grep -q 'zeroproof-simdev-counters is not beside this one' "$tmp/out"
verdict $? without_its_program "$(head -c 300 "$tmp/out")"
finish
