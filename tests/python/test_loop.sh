#!/bin/sh
# Loops around zeroproof.torch.Engine: torch.compile, several engines in a process, `with`, losses,
# memory; the scripts of python/TRAINING.md; faults planted in the engine's memory are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so build/zeroproof python
# inputs: tests/fixtures/lib.sh tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
check tests/python/loop_test.py
check tests/python/training_test.py python/TRAINING.md

fault a_copy_of_the_parameters_stays engine.py \
  's/p.data, p.grad = view, None/self._old = [*getattr(self, "_old", []), p.data]; p.data = view/' \
  tests/python/loop_test.py memory
fault gradients_of_pytorch_stay engine.py \
  's/= lent.copy_(grad)/= lent.copy_(grad); self._old = [*getattr(self, "_old", []), grad]/' \
  tests/python/loop_test.py memory
fault exact_sums_are_in_fp32 _engine.py 's/REDUCE\[reduce\],/0,/' tests/python/loop_test.py memory
run_checks
exit "$bad"
