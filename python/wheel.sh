#!/bin/sh
# Builds the wheel of the Python package: sh python/wheel.sh BUILD VERSION [ARCH...]
#
# ARCH: x86_64, aarch64 (default: both). Compiles the command and the library with zig's clang
# against glibc 2.28, with jansson and xxHash linked in, and packs them with the Python files into
# BUILD/wheel/dist. auditwheel and twine check the result. Needs python3-venv and make; compilers
# and tools come from PyPI with pinned hashes, the two libraries' sources from Debian's archive.
# Exit codes: 1 the wheel is not as it should be; 3 something could not be fetched or built.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: wheel.sh BUILD VERSION [ARCH...]}
version=${2:?usage: wheel.sh BUILD VERSION [ARCH...]}
shift 2
[ $# -gt 0 ] || set -- x86_64 aarch64
mkdir -p "$build/wheel/sources"
build=$(cd "$build" && pwd)/wheel
glibc=2.28
most=10485760 # bytes of a wheel
python=$(sh conformance/locks/venv.sh wheel wheel) || exit 3
tools=${python%/python}
log=$build/log
: >"$log"

fail() { # fail CODE WHY
  echo "wheel.sh: $2" >&2
  exit "$1"
}

logged() { # logged WHAT COMMAND...: its output only if it fails
  what=$1
  shift
  echo "  $what" >&2
  "$@" >"$log" 2>&1 || { tail -40 "$log" >&2; fail 3 "$what failed"; }
}

source_of() { # source_of NAME VERSION SHA256: unpacks the original sources that Debian archives
  [ -e "$build/sources/$1-$2/complete" ] || python3 -B python/source.py "$build/sources/$1-$2" \
    "https://deb.debian.org/debian/pool/main/$(printf %.1s "$1")/$1/$1_$2.orig.tar.gz" "$3" ||
    fail 3 "the sources of $1 $2 cannot be fetched"
}

source_of jansson 2.14 c739578bf6b764aa0752db9a2fdadcfe921c78f1228c7ec0bb47fa804c55d17b
source_of xxhash 0.8.1 3bb6b7d6f30c591dd65aaaff1c8b7a5b94d81687998ca9400082c739a690436c

rm -rf "$build/dist"
for arch in "$@"; do
  out=$build/$arch
  mkdir -p "$out"
  cat >"$out/cc" <<EOF
#!/bin/sh
exec $python -m ziglang cc -target $arch-linux-gnu.$glibc "\$@"
EOF
  chmod +x "$out/cc"
  [ -e "$out/jansson/lib/libjansson.a" ] || {
    logged "configure jansson for $arch" "$tools/cmake" -G "Unix Makefiles" \
      -S "$build/sources/jansson-2.14" -B "$out/jansson-build" -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
      -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$arch" -DCMAKE_C_COMPILER="$out/cc" \
      -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON \
      -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_LIBDIR=lib \
      -DCMAKE_INSTALL_PREFIX="$out/jansson"
    logged "compile jansson for $arch" "$tools/cmake" --build "$out/jansson-build" --target install
  }
  # -g0, -s: no debugging information. XXH_INLINE_ALL: xxHash is only headers then.
  CPPFLAGS="-isystem $out/jansson/include -isystem $build/sources/xxhash-0.8.1 -DXXH_INLINE_ALL" \
    logged "compile zeroproof for $arch" make --no-print-directory -j "${JOBS:-$(nproc)}" \
    BUILD="$out/build" MPI=0 CC="$out/cc" OPT="-O2 -g0" OPENMP= LDFLAGS=-s \
    LIBS="$out/jansson/lib/libjansson.a -pthread -lm" all lib
  rm -rf "$out/tree"
  mkdir -p "$out/tree/bin" "$out/tree/lib" "$out/tree/licenses"
  cp "$out/build/zeroproof" "$out/tree/bin/zeroproof"
  cp "$out/build/libzeroproof.so.$version" "$out/tree/lib/libzeroproof.so"
  cp "$out/build/libzeroproof_engine.so" "$out/tree/lib/libzeroproof_engine.so"
  cp "$build/sources/jansson-2.14/LICENSE" "$out/tree/licenses/jansson.txt"
  cp "$build/sources/xxhash-0.8.1/LICENSE" "$out/tree/licenses/xxhash.txt"
  logged "collect the conformance suite" make --no-print-directory install-suite \
    DESTDIR= PREFIX="$out/tree"
  python3 -B python/provenance.py "$version" >"$out/tree/provenance.json"
  ZEROPROOF_WHEEL_TREE="$out/tree" ZEROPROOF_WHEEL_PLATFORM="manylinux_2_28_$arch" \
    logged "pack the wheel for $arch" env -C python "$tools/hatchling" build -t wheel \
    -d "$build/dist"
done

for wheel in "$build"/dist/*.whl; do
  size=$(stat -c %s "$wheel")
  [ "$size" -le "$most" ] || fail 1 "$wheel has $size bytes, at most $most are allowed"
  "$tools/auditwheel" show "$wheel" >"$log" 2>&1 || { cat "$log" >&2; fail 1 "auditwheel failed"; }
  tag=$(tr '\n' ' ' <"$log" | sed -n 's/.*following platform tag: "\([^"]*\)".*/\1/p')
  older=$(printf '%s\n' "${tag%_x86_64}" manylinux_2_28 | sed 's/_aarch64$//' | sort -V | tail -1)
  [ "$older" = manylinux_2_28 ] || { cat "$log" >&2; fail 1 "$wheel needs $tag"; }
  "$tools/twine" check --strict "$wheel" >"$log" 2>&1 || { cat "$log" >&2; fail 1 "twine failed"; }
  echo "$wheel: $size bytes, needs no more than $tag"
done
echo "python/README.md says how to install it."
