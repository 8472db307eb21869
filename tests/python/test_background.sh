#!/bin/sh
# zeroproof.torch.Engine: saves in the background; faults planted in it are found.
# inputs: build/libzeroproof.so.* build/libzeroproof_engine.so python tests/fixtures/lib.sh
# inputs: tests/drivers/cli/held_disk.c tests/python conformance/locks @venv:torch-2.13.0
cd "$(dirname "$0")/../.." || exit 3
. tests/python/lib.sh
# Python loads no library with a sanitizer; the plain `make test` runs this.
[ "${SAN:-0}" = 1 ] && exit 0
"${CC:-gcc}" -shared -fPIC -o "$tmp/held.so" tests/drivers/cli/held_disk.c -ldl -lpthread ||
  verdict 1 held_disk_is_built
export LD_PRELOAD="$tmp/held.so"
check tests/python/background_test.py

fault it_is_no_background _engine.py 's/zp_engine_save_begin if/zp_engine_save if/' \
  tests/python/background_test.py publishes
fault it_is_always_written _engine.py \
  's/return bool(self.lib.zp_engine_save_written.*/return True/' \
  tests/python/background_test.py says
fault errors_before_hide_that_of_close _engine.py \
  's/return bool(self.lib.zp_binding_get.*/return bool(self.lib.zp_binding_why(self._binding, \
     ctypes.byref(_text())))/' \
  tests/python/background_test.py fails
fault nothing_publishes_it engine.py 's/^\( *\)native.save_end()$/\1pass/' \
  tests/python/background_test.py publishes
run_checks
exit "$bad"
