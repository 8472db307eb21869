#!/bin/sh
# The software bill of materials of a release: sbom_test.py checks what `make sbom` writes.
# inputs: tests/fixtures/lib.sh tests/conformance/lib.sh tests/conformance/sbom_test.py
# inputs: conformance/locks conformance/recorder proofs/DEPENDENCIES.md @venv:cyclonedx
. "$(dirname "$0")/lib.sh"
. tests/fixtures/lib.sh
if ! python=$(sh conformance/locks/venv.sh cyclonedx cyclonedx 2>"$tmp/err"); then
  echo "not run: conformance test_sbom.sh: $(tail -n 1 "$tmp/err")"
  exit 0
fi
# jansson is the only package whose version on this machine is known
echo 'libjansson4 9.9-1' >"$tmp/packages.txt"
make_sbom() { # make_sbom FILE
  "$python" -B conformance/locks/sbom.py 1.2.3 "$tmp/packages.txt" "$1" >"$tmp/out" 2>&1
}

unset SOURCE_DATE_EPOCH
PYTHONHASHSEED=1 make_sbom "$tmp/one" &&
  PYTHONHASHSEED=2 TZ=Asia/Tokyo SOURCE_DATE_EPOCH=86400 make_sbom "$tmp/dated" &&
  sed -z 's/,\n *"timestamp": "[^"]*"//' "$tmp/dated" | cmp -s "$tmp/one" - &&
  ! grep -qE 'serialNumber|timestamp' "$tmp/one"
verdict $? the_same_inputs_give_the_same_bytes "$(tail -n 3 "$tmp/out")"
grep -q '"timestamp": "1970-01-02T00:00:00+00:00"' "$tmp/dated"
verdict $? the_date_is_that_of_the_environment "$(tail -n 3 "$tmp/out")"
"$python" -B tests/conformance/sbom_test.py "$tmp/one" || bad=1
finish
