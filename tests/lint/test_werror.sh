#!/bin/sh
# Warnings of the compiler: errors in `make quick`, printed in all other builds.
# inputs: @make
. tests/fixtures/lib.sh

make="${MAKE:-make} --no-print-directory CC=${CC:-gcc} SAN=0 JOBS=1"
object=$tmp/build/ref/plan/topology.o
printf '#ifdef PLANTED\nstatic int never_called(void) { return 0; }\n#endif\n' >"$tmp/planted.h"
flags="-include $tmp/planted.h -DPLANTED"

$make BUILD="$tmp/build" CFLAGS="$flags" "$object" >"$tmp/out" 2>&1
[ $? -eq 0 ] && [ -e "$object" ] && grep -q 'warning:.*never_called' "$tmp/out"
verdict $? a_warning_is_printed_and_does_not_stop_a_users_build "$(cat "$tmp/out")"
$make BUILD="$tmp/build" CFLAGS="$flags" WERROR=1 "$object" >"$tmp/out" 2>&1
[ $? -ne 0 ] && grep -q 'Werror' "$tmp/out"
verdict $? an_object_that_had_a_warning_is_compiled_again_and_fails "$(cat "$tmp/out")"
$make BUILD="$tmp/quick" CFLAGS="$flags" quick >"$tmp/out" 2>&1
[ $? -ne 0 ] && grep -q 'error:.*never_called' "$tmp/out"
verdict $? a_warning_fails_make_quick "$(tail -5 "$tmp/out")"

rm -rf "$tmp/build"
$make BUILD="$tmp/build" "$object" >"$tmp/out" 2>&1
touch "$tmp/made"
$make BUILD="$tmp/build" WERROR=1 "$object" >>"$tmp/out" 2>&1
[ $? -eq 0 ] && [ -z "$(find "$object" -newer "$tmp/made")" ] && [ ! -e "$object.warnings" ]
verdict $? an_object_without_warnings_is_not_compiled_again "$(cat "$tmp/out")"
! $make -n BUILD="$tmp/build" all lib recorder install 2>/dev/null | grep -q -e '-Werror'
verdict $? other_targets_pass_no_werror
# A compile rule that bypasses the macro would keep its warnings to itself.
grep -nE '^	\$\(Q\)\$\((TSAN_)?CC\).*( -c |\.c)' Makefile cuda/*.mk cuda/*/*.mk conformance/*/*.mk \
  >"$tmp/out"
[ $? -eq 1 ]
verdict $? every_compile_rule_uses_the_macro "$(cat "$tmp/out")"
finish
