#!/bin/sh
# What is installed has a hash in a lock file: conformance/locks/venv.sh with small wheels of this
# test's own, without a network.
# inputs: tests/fixtures tests/conformance/lib.sh conformance/locks
. "$(dirname "$0")/lib.sh"
. tests/fixtures/lib.sh
. tests/fixtures/wheel.sh
if ! python3 -c 'import ensurepip' 2>/dev/null; then
  echo "not run: conformance test_locks.sh (needs python3-venv)"
  exit 0
fi
mkdir "$tmp/wheels" "$tmp/locks"
cp conformance/locks/venv.sh "$tmp/locks"
export ZP_VENVS="$tmp/venvs" PIP_NO_INDEX=1 PIP_FIND_LINKS="$tmp/wheels" PIP_CONFIG_FILE=/dev/null

lock() { # lock NAME REQUIREMENT HASH: adds a line to a lock file
  printf '%s \\\n    --hash=sha256:%s\n' "$2" "$3" >>"$tmp/locks/$1.txt"
}

venv() { # venv CODE NAME LOCK...: creates an environment; sets why
  code=$1
  shift
  sh "$tmp/locks/venv.sh" "$@" >"$tmp/out" 2>"$tmp/err"
  got=$?
  why="exit code $got: $(tail -n 4 "$tmp/err")"
  [ $got -eq "$code" ]
}

made() { # made NAME
  [ -e "$ZP_VENVS/$1/complete" ]
}

one=$(make_wheel "$tmp/wheels" zp-one 1.0 any zp-two)
two=$(make_wheel "$tmp/wheels" zp-two 1.0 any)
lock good zp-one==1.0 "$one"
venv 0 good good && made good && "$(cat "$tmp/out")" -c 'import zp_one'
verdict $? a_wheel_with_the_hash_of_the_lock_is_installed "$why"
! "$ZP_VENVS/good/bin/python" -c 'import zp_two' 2>/dev/null
verdict $? packages_beyond_the_lock_are_not_installed

mv "$tmp/wheels" "$tmp/gone"
venv 0 good good
verdict $? a_complete_environment_is_reused_without_pip "$why"
mv "$tmp/gone" "$tmp/wheels"
lock good zp-two==1.0 "$two"
venv 0 good good && "$ZP_VENVS/good/bin/python" -c 'import zp_two'
verdict $? a_changed_lock_remakes_the_environment "$why"

lock tampered zp-one==1.0 "$two"
venv 3 tampered tampered && ! made tampered && grep -q 'DO NOT MATCH THE HASHES' "$tmp/err"
verdict $? another_hash_is_refused "$why"
echo 'zp-two==1.0' >"$tmp/locks/more.txt"
venv 3 more more && ! made more && grep -q 'Hashes are required in --require-hashes mode' "$tmp/err"
verdict $? a_line_without_a_hash_is_refused "$why"

# A source archive runs code when it is installed, and needs the list in venv.sh.
for name in zp_four deepspeed; do
  mkdir "$tmp/$name-1.0"
  printf 'Metadata-Version: 2.1\nName: %s\nVersion: 1.0\n' $name >"$tmp/$name-1.0/PKG-INFO"
  printf 'open("%s", "w")\nfrom setuptools import setup\nsetup(name="%s", version="1.0")\n' \
    "$tmp/ran-$name" $name >"$tmp/$name-1.0/setup.py"
  tar -C "$tmp" -czf "$tmp/wheels/$name-1.0.tar.gz" "$name-1.0"
  lock $name $name==1.0 "$(sha256sum <"$tmp/wheels/$name-1.0.tar.gz" | cut -d' ' -f1)"
  venv 3 $name $name
  [ -e "$tmp/ran-$name" ] && echo "$name" >>"$tmp/ran"
done
[ "$(cat "$tmp/ran")" = deepspeed ]
verdict $? a_source_archive_is_refused_unless_listed "ran setup.py of: $(cat "$tmp/ran")"

venv 2 any nowhere && grep -q 'there is no lock file' "$tmp/err"
verdict $? a_lock_that_is_missing_is_named "$why"

# pip's own settings stay the user's: none of the scripts names an index.
! grep -nE 'index-url|trusted-host' conformance/locks/venv.sh conformance/locks/*.txt >"$tmp/found"
verdict $? no_index_is_named "$(head -n 3 "$tmp/found")"
finish
