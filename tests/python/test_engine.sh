#!/bin/sh
# zeroproof.torch.Engine: the same bits on 1 to 4 ranks, torch's AdamW, and what is refused;
# faults planted in it are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
check tests/python/engine_test.py
check tests/python/optimizer_test.py
check tests/python/state_test.py

fault a_frozen_entry_is_updated "_description.py engine.py" \
  's/^\( *\)not p.requires_grad,$/\1False,/
   s/if not self._parameters\[j\].requires_grad:/if False:/' \
  tests/python/optimizer_test.py against_torch
fault tied_is_two_entries _description.py \
  's/dict(model.named_parameters())/dict(model.named_parameters(remove_duplicate=False))/' \
  tests/python/optimizer_test.py tied_and_frozen
fault numbers_of_a_schedule_are_ignored engine.py \
  's/^\( *\)known = torch_numbers.*/\1continue/' \
  tests/python/optimizer_test.py schedules
run_checks
exit "$bad"
