# Traces of 1,000,000 records whose shape makes a judge slow that searches lists, or that searches
# everything whenever no rank can proceed: receives from any source, grouped calls that stay open,
# asynchronous operations in opposite order, groups of ranks without a trace. The limit of
# processor time is about 5 times what the slowest takes. A judge that searches needs more.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/bench/trace_shapes.py
. tests/fixtures/lib.sh
limit=5
[ "${SAN:-0}" = 1 ] && limit=20
ZEROPROOF=$zp python3 -B tests/bench/trace_shapes.py --records 1000000 --limit $limit \
  >"$tmp/table" 2>&1
verdict $? every_shape_is_judged_within_its_processor_time \
  "$(grep -Ev "(consistent|cannot be judged)[^|]* \|$" "$tmp/table")"
[ "$(grep -Ec "(consistent|cannot be judged)[^|]* \|$" "$tmp/table")" -eq 23 ]
verdict $? every_shape_has_a_verdict "$(cat "$tmp/table")"
finish
