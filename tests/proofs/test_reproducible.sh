# The bits of a build depend only on its sources: the command and both libraries built here equal
# those built from `make dist` in another folder, at another time, with another user's settings. The
# library and the command contain the commit and the hash of the claims that they were built from.
. tests/fixtures/lib.sh

build=${ZP_BUILD:-build}
make=${MAKE:-make}
version=$("$build/zeroproof" --version | sed -n 's/^zeroproof //p')

# Two tarballs packed under different settings have the same bits.
$make --no-print-directory dist BUILD="$tmp/a" >"$tmp/out" 2>&1
verdict $? dist "$(tail -3 "$tmp/out")"
(
  umask 077
  TZ=Pacific/Chatham LC_ALL=C.UTF-8 $make --no-print-directory dist BUILD="$tmp/b" >"$tmp/out" 2>&1
)
cmp "$tmp/a/zeroproof-$version.tar.gz" "$tmp/b/zeroproof-$version.tar.gz" >"$tmp/out" 2>&1
verdict $? two_tarballs_are_equal "$(cat "$tmp/out")"

there="$tmp/another folder"
there=$(echo "$there" | tr ' ' '_')/with/a/longer/name
mkdir -p "$there"
tar -C "$there" -xzf "$tmp/a/zeroproof-$version.tar.gz"
find "$there" -type f -exec touch -d '2001-02-03 04:05:06' {} +
(
  cd "$there/zeroproof-$version" && umask 027 &&
    TZ=Asia/Kathmandu LC_ALL=C $make --no-print-directory -j"${JOBS:-2}" all lib BUILD=out \
      CC="${CC:-gcc}" SAN="${SAN:-0}" >"$tmp/out" 2>&1
)
verdict $? builds_from_the_tarball "$(tail -3 "$tmp/out")"
for f in zeroproof libzeroproof.a "libzeroproof.so.$version"; do
  cmp "$build/$f" "$there/zeroproof-$version/out/$f" >"$tmp/out" 2>&1
  verdict $? "same_bits_$f" "$(cat "$tmp/out")"
done

# The identity that a binary prints.
"$build/zeroproof" --version >"$tmp/says"
grep -qE '^commit    ([0-9a-f]{40}(-dirty)?|unknown)$' "$tmp/says"
verdict $? version_names_the_commit "$(cat "$tmp/says")"
if [ -f CLAIMS.md ]; then claims=$(sha256sum <CLAIMS.md | cut -d' ' -f1); else claims=none; fi
grep -qx "claims    $claims" "$tmp/says"
verdict $? version_names_the_claims "$(cat "$tmp/says")"
grep -aq "$(pwd)" "$build/zeroproof" "$build/libzeroproof.a" "$build/libzeroproof.so.$version"
[ $? -eq 1 ]
verdict $? no_path_of_this_machine
finish
