#!/bin/sh
# Mistakes of a user of zeroproof.torch.Engine: each ends in an error that names it and the rank;
# where a check is taken out, the test fails.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
check tests/python/mistakes_test.py

broken="an optimizer of one's own"
fault other_optimizers_step engine.py \
  's/if isinstance(optimizer, EngineOptimizer):/if True:/' tests/python/mistakes_test.py local
broken='the others hear of caught'
fault errors_are_not_noted engine.py \
  's/self._alarms.note(text).*/pass/' tests/python/mistakes_test.py caught
broken='checkpoints that do not'
fault batches_are_not_compared _state.py \
  's/was != batch and/False and/' tests/python/mistakes_test.py loading
run_checks
exit "$bad"
