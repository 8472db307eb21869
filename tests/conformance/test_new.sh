#!/bin/sh
# conformance/new.sh finds successors of pinned versions: among small wheels, without a network.
# inputs: tests/fixtures tests/conformance/lib.sh conformance/new.sh conformance/subject.sh
# inputs: conformance/subjects.txt conformance/locks
. "$(dirname "$0")/lib.sh"
. tests/fixtures/lib.sh
. tests/fixtures/wheel.sh
mkdir "$tmp/wheels"
export PIP_NO_INDEX=1 PIP_FIND_LINKS="$tmp/wheels" PIP_CONFIG_FILE=/dev/null ZP_VENVS="$tmp/venvs"

look() { # look CODE: runs new.sh on one environment
  timeout 600 sh conformance/new.sh "$tmp/build" megatron-fsdp-0.6.1 >"$tmp/out" 2>"$tmp/err"
  got=$?
  why="exit code $got: $(tail -n 3 "$tmp/out") $(tail -n 3 "$tmp/err")"
  [ $got -eq "$1" ]
}

look 3 && grep -q 'no answer of the index' "$tmp/out"
verdict $? an_index_without_the_package_is_an_error "$why"
make_wheel "$tmp/wheels" megatron-fsdp 0.6.1 any >"$tmp/hash"
make_wheel "$tmp/wheels" megatron-fsdp 0.5.9 any >"$tmp/hash"
look 0 && grep -qx 'megatron-fsdp-0.6.1: no successor' "$tmp/out"
verdict $? the_pinned_version_is_no_successor_of_itself "$why"
make_wheel "$tmp/wheels" megatron-fsdp 0.10.0 any >"$tmp/hash"
look 0 && grep -q '^== megatron-fsdp-0.6.1 has the successor 0.10.0' "$tmp/out" &&
  grep -q '^megatron-fsdp 0.10.0 cannot be installed' "$tmp/out"
verdict $? versions_are_compared_as_numbers "$why"
finish
