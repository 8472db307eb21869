# Between two barriers no two threads of a kernel access the same byte, except by atomic additions:
# under ThreadSanitizer, with each thread a fiber (races.c). spec: STAT-2, RED-3
# inputs: tests/fixtures/lib.sh tests/drivers/cuda/races.c tests/drivers/cuda/*.h
# inputs: cuda/kernels cuda/simdev ref spec/acsl
. tests/fixtures/lib.sh

[ "${SAN:-0}" = 1 ] && exit 0
# gcc's: whether clang brings its runtime library depends on how it was installed.
compiled() { # compiled NAME FLAG...
  name=$1
  shift
  gcc -std=c11 -O1 -g -w -fsanitize=thread -ffp-contract=off -fno-strict-aliasing "$@" \
    tests/drivers/cuda/races.c "$from/kernels.c" "$from/launch.c" -o "$tmp/$name" -lm
}
# Where it is allowed addresses are not randomised: ThreadSanitizer cannot live with all of what
# Linux may choose.
fixed=$(setarch -R true 2>/dev/null && echo setarch -R)
# Kernels get the same shared memory one after the other: equal addresses are no equal races.
TSAN_OPTIONS=halt_on_error=0:exitcode=66:suppress_equal_addresses=0
export TSAN_OPTIONS
watched() { # watched COMMAND...
  timeout 300 $fixed "$@" >"$tmp/out" 2>&1
}

from=cuda/kernels
if ! compiled races -DZP_THREADS_AT_ONCE 2>"$tmp/out"; then
  verdict 1 races_compile "$(head -3 "$tmp/out")"
  finish
fi
watched "$tmp/races"
verdict $? no_thread_races_with_another "$(grep -m3 -E 'WARNING|#0' "$tmp/out" | tr '\n' ' ')"
launches=$(grep -c '^zp_' "$tmp/out")
[ "$launches" -eq 20 ]
verdict $? every_kernel_is_watched "$launches launches"

found() { # found NAME PATTERN COMMAND...: a race is reported, in what the pattern names
  name=$1
  pattern=$2
  shift 2
  watched "$@"
  [ $? -eq 66 ] && grep -q 'data race' "$tmp/out" && grep -qE "$pattern" "$tmp/out"
  verdict $? "found:$name" "$(tail -2 "$tmp/out" | tr '\n' ' ')"
}
found barriers_left_out 'in zp_squares|in zp_pack|in zp_decide' "$tmp/races" no-barrier
for kernel in gather_exact add_exact settle mean_exact unpack_sums pack_sums mean_packed; do
  grep -q "#[0-9]* zp_${kernel}_body " "$tmp/out"
  verdict $? "found:${kernel}_without_barriers" "$(tail -2 "$tmp/out" | tr '\n' ' ')"
done
compiled plain && found plain_additions_in_shared_memory zp_squares "$tmp/plain"
mkdir "$tmp/cuda" && cp -r cuda/kernels cuda/simdev "$tmp/cuda"
ln -s "$PWD/ref" "$PWD/spec" "$tmp"
from=$tmp/cuda/kernels
sed 's/v.x = (int32_t)t.threadIdx\[0\];/v.x = (int32_t)(t.threadIdx[0] % 255);/' \
  cuda/kernels/vector.h >"$from/vector.h"
compiled twice -DZP_THREADS_AT_ONCE && found two_threads_on_one_element zp_ "$tmp/twice"
finish
