#!/bin/sh
# A rank that ends, however, ends the other ranks of zeroproof.torch.Engine with its number;
# without its alarms they do not know it.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
check tests/python/alarm_test.py
fault no_alarm_is_sent _alarm.py \
  '/def tell/,/return/s/if self._alarmed or self.verdict:/if True:/' \
  tests/python/alarm_test.py raises "is killed"
fault ranks_wait_for_more_than_10_s _alarm.py "s/^ANSWERS_S = 5.0/ANSWERS_S = 9.0/" \
  tests/python/alarm_test.py raises
run_checks
exit "$bad"
