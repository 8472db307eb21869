# simdev by itself: installed, found with pkg-config, used by the README's program and the example,
# as an archive, under ThreadSanitizer, and as a shared library whose calls are intercepted.
# inputs: @make
. tests/fixtures/lib.sh

build=${ZP_BUILD:-build}
san=${SAN:-0}
cc=${CC:-gcc}
make=${MAKE:-make}
flags="-std=c11 -Wall -Wextra -Wno-unused-parameter"
[ "$san" = 1 ] && flags="$flags -fsanitize=address,undefined"
# gcc 12's ThreadSanitizer does not know the mappings of kernels that randomize more bits
fixed=
setarch -R true 2>/dev/null && fixed="setarch -R"

# What was not built is not installed, and not fetched for either.
$make --no-print-directory -n install BUILD="$tmp/none" PREFIX="$tmp/usr" >"$tmp/out" 2>&1
! grep -q simdev.h "$tmp/out"
verdict $? install_without_simdev_leaves_it_alone "$(grep -m1 simdev.h "$tmp/out")"

$make --no-print-directory install-simdev SAN="$san" BUILD="$build" CC="$cc" PREFIX="$tmp/usr" \
  >"$tmp/out" 2>&1
verdict $? install "$(tail -3 "$tmp/out")"
export PKG_CONFIG_PATH="$tmp/usr/lib/pkgconfig"

# The library alone: no other name is given to a program than those of CUDA, NCCL and simdev.h.
nm -D --defined-only "$tmp/usr/lib/libsimdev.so" | awk '{ print $3 }' |
  grep -vE '^(cuda[A-Z]|nccl[A-Z]|simdev_)' >"$tmp/names"
[ ! -s "$tmp/names" ]
verdict $? shared_library_exports_what_its_headers_name "$(head -3 "$tmp/names")"

# program NAME PACKAGE FLAGS...: builds $tmp/NAME.c outside of the repository
program() {
  name=$1
  package=$2
  shift 2
  (cd "$tmp" && $cc $flags "$name.c" -o "$name.$package" "$@" \
    $(pkg-config --cflags --libs "$package")) >"$tmp/out" 2>&1
}

awk '/^## A program/ { on = 1 } /^\[example/ { exit } on && /^    / { print substr($0, 5) }' \
  cuda/simdev/README.md >"$tmp/readme.c"
cp cuda/simdev/example/two_producers.c "$tmp/example.c"
export LD_LIBRARY_PATH="$tmp/usr/lib"
program readme simdev && "$tmp/readme.simdev" >>"$tmp/out" 2>&1
verdict $? program_of_the_readme "$(head -5 "$tmp/out")"
$cc $flags "$tmp/example.c" -o "$tmp/static" $(pkg-config --cflags --libs simdev |
  sed 's/-lsimdev/-Wl,-Bstatic -lsimdev -Wl,-Bdynamic/') >"$tmp/out" 2>&1 &&
  "$tmp/static" fixed >>"$tmp/out" 2>&1
verdict $? example_with_the_archive "$(head -5 "$tmp/out")"

# The mistake of the example is a race under the first seed; gcc's sanitizer, and no other with it.
flags="-std=c11 -g"
cc=gcc
program example simdev-tsan
TSAN_OPTIONS=exitcode=1 $fixed "$tmp/example.simdev-tsan" >>"$tmp/out" 2>&1
grep -q 'seed 1: race: two accesses that nothing orders' "$tmp/out"
verdict $? example_under_thread_sanitizer "$(head -5 "$tmp/out")"
TSAN_OPTIONS=exitcode=1 $fixed "$tmp/example.simdev-tsan" fixed >"$tmp/out" 2>&1
verdict $? fixed_example_under_thread_sanitizer "$(head -5 "$tmp/out")"

# A preloaded wrapper receives each call of each rank, and the program's results are the same.
cat >"$tmp/recorder.c" <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
typedef ncclResult_t all_reduce(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
                                ncclComm_t, cudaStream_t);
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t n, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
  all_reduce *next = (all_reduce *)dlsym(RTLD_NEXT, "ncclAllReduce");
  int rank = -1;
  ncclCommUserRank(comm, &rank);
  fprintf(stderr, "rank %d: ncclAllReduce of %zu\n", rank, n);
  return next(send, recv, n, type, op, comm, stream);
}
X
cc=${CC:-gcc}
[ "$san" = 1 ] && flags="$flags -fsanitize=address,undefined"
(cd "$tmp" && $cc $flags -shared -fPIC recorder.c -o recorder.so -ldl \
  $(pkg-config --cflags simdev)) >"$tmp/out" 2>&1 &&
  ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$tmp/recorder.so" "$tmp/readme.simdev" \
    >"$tmp/out" 2>"$tmp/calls"
verdict $? program_with_a_recorder "$(head -5 "$tmp/out")"
for r in 0 1 2; do
  [ "$(grep -c "^rank $r: ncclAllReduce of 100\$" "$tmp/calls")" -eq 1000 ]
  verdict $? "recorder_sees_each_call_of_rank:$r" "$(sort "$tmp/calls" | uniq -c | head -3)"
done

$make --no-print-directory uninstall-simdev PREFIX="$tmp/usr" >"$tmp/out" 2>&1
[ -z "$(find "$tmp/usr" -type f -o -type l)" ]
verdict $? uninstall_leaves_no_file "$(find "$tmp/usr" -type f | head -3)"
finish
