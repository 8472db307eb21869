# The reduction waits for every stream that filled its bucket. With one such stream that is, byte
# for byte, what an engine does that waits for the current stream only; with two, that engine has
# wrong results. spec: RED-3, STEP-2
# inputs: build/tests/drivers/cuda/engine_graph*
set -u
build=${ZP_BUILD:-build}
graph=$build/tests/drivers/cuda/engine_graph
a=$(mktemp)
b=$(mktemp)
trap 'rm -f "$a" "$b"' EXIT

verdict() { # verdict CODE NAME WHY
  if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; fi
}

"$graph" 0 60 1 >"$a" && "$graph" 0 60 1 current >"$b" &&
  [ "$(wc -l <"$a")" -gt 10000 ] && cmp -s "$a" "$b"
verdict $? "one_producer_gives_the_graph_of_an_engine_that_waits_for_the_current_stream" \
  "$(diff "$a" "$b" | head -3 | tr '\n' ' ')"
"$graph" 0 60 2 >"$a"
verdict $? "two_producers_are_waited_for" "$(grep -m1 '^failed' "$a")"
! "$graph" 0 60 2 current >"$b" && grep -q '^failed: .*differs from ref' "$b"
verdict $? "an_engine_that_waits_for_the_current_stream_is_wrong_with_two" "nothing differs"
