#!/bin/sh
# Mistakes of a user of zeroproof.torch.Engine: each ends in an error that names it and the rank;
# where a check is taken out, the test fails.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
"$python" -W ignore tests/python/mistakes_test.py || bad=1

fault() { # fault NAME FILE SED CHECK: without a check of the package, CHECK fails
  rm -rf "$tmp/python"
  cp -r python "$tmp/python"
  sed "$3" "python/zeroproof/$2" >"$tmp/python/zeroproof/$2"
  if cmp -s "python/zeroproof/$2" "$tmp/python/zeroproof/$2"; then
    verdict 1 "fault:$1" "sed changed nothing"
    return
  fi
  PYTHONPATH="$tmp/python" "$python" -W ignore tests/python/mistakes_test.py >"$tmp/out" 2>&1
  [ $? -eq 1 ] && grep -q "^not ok $4" "$tmp/out"
  verdict $? "fault:$1" "$(tail -n 1 "$tmp/out")"
}

fault other_optimizers_step engine.py 's/if isinstance(optimizer, EngineOptimizer):/if True:/' \
  "an optimizer of one's own"
fault errors_are_not_noted engine.py 's/self._alarms.note(text).*/pass/' 'the others hear of caught'
fault batches_are_not_compared _state.py 's/was != batch and/False and/' 'checkpoints that do not'
exit "$bad"
