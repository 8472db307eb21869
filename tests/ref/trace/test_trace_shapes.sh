# Traces of 1,000,000 records whose shape makes a judge slow that searches lists: receives from any
# source, grouped calls that stay open, asynchronous operations in opposite order. The limit is in
# processor time: about 50 times what they take. A judge that searches lists needs more.
# inputs: build/zeroproof tests/fixtures/lib.sh tests/bench/trace_shapes.py
. tests/fixtures/lib.sh
ZEROPROOF=$zp python3 -B tests/bench/trace_shapes.py --records 1000000 --limit 20 >"$tmp/table" 2>&1
verdict $? every_shape_is_judged_within_its_processor_time \
  "$(grep -v "consistent |$" "$tmp/table")"
[ "$(grep -c ': consistent |$' "$tmp/table")" -eq 11 ]
verdict $? every_shape_is_consistent "$(cat "$tmp/table")"
finish
