#!/bin/sh
# Adapters that are Python functions, and pytest --zeroproof: items, -k, xdist, JUnit, diagnoses.
# inputs: build/libzeroproof.so.* build/zeroproof python ref/num/exact.h tests/fixtures/lib.sh
# inputs: tests/python conformance/locks conformance/judge conformance/adapters conformance/SPEC.md
# inputs: conformance/recorder conformance/schema conformance/known spec/*.md @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
if ! pytest=$(sh conformance/locks/venv.sh pytest-check pytest check 2>"$tmp/err"); then
  echo "not run: python ${0##*/} ($(tail -n 1 "$tmp/err"))"
  exit 0
fi
PYTHONPATH=$PYTHONPATH:$(echo "${pytest%/bin/python}"/lib/python*/site-packages)
cp tests/python/adapters/ddp.py "$tmp/ddp.py"
cd "$tmp" || exit 3

plugin() { # plugin CODE OPTION...: pytest on the adapter; its output is in $tmp/out
  code=$1
  shift
  timeout 500 "$python" -W ignore -m pytest -p zeroproof.pytest_plugin -p no:cacheprovider \
    --zeroproof=ddp.py "$@" >"$tmp/out" 2>&1
  got=$?
  why="exit code $got: $(tail -n 12 "$tmp/out")"
  [ $got -eq "$code" ]
}

plugin 0 --collect-only -q && grep -q '^ddp.py::c[0-9a-f]\{12\}$' out
verdict $? each_case_is_an_item "$why"
plugin 0 -k "dp_2 and M_2" --junitxml=passed.xml && grep -q 'failures="0"' passed.xml
verdict $? a_right_adapter_passes "$why"
grep -q '^collected [0-9]* items / [0-9]* deselected / [0-9]* selected' out
verdict $? k_selects_by_the_values_of_axes "$why"
plugin 0 -k "dp_2 and M_2 and steps_2" -n 2 -q && grep -q ' passed' out
verdict $? xdist_runs_it "$why"
export FAULT=lost
plugin 1 -k "dp_2 and M_2 and steps_1" --zeroproof-shrink=10 --junitxml=failed.xml &&
  grep -q 'missing: contribution of dp 1' out && grep -q '^smallest case: ' out &&
  grep -q '^reproduce: zeroproof check --adapter ' out && grep -q '<failure' failed.xml
verdict $? a_lost_gradient_fails_with_its_diagnosis "$why"
export FAULT=error
plugin 1 -k "dp_2 and M_2 and steps_1" --zeroproof-shrink=0 && grep -q 'on purpose' out
verdict $? an_error_fails_with_its_text "$why"
unset FAULT
echo 'import nothing_of_this_name' >ddp.py
plugin 2 && grep -q 'nothing_of_this_name' out
verdict $? an_adapter_that_cannot_be_imported_is_an_error "$why"
echo 'x = 1' >ddp.py
plugin 2 && grep -q 'expected one function with @adapter' out
verdict $? a_file_without_an_adapter_is_an_error "$why"
rm ddp.py
plugin 4 && grep -q 'there is no file ddp.py' out
verdict $? a_missing_file_is_an_error "$why"
exit "$bad"
