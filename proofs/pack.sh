#!/bin/sh
# Identifies the sources of a binary, and packs them into a tarball.
#
#   proofs/pack.sh identity VERSION      the -D flags of ref/engine/build_info.c
#   proofs/pack.sh dist VERSION OUT    OUT/zeroproof-VERSION.tar.gz: the sources
#   proofs/pack.sh artifact VERSION BUILD
#                                      BUILD/zeroproof-artifact-VERSION.tar.gz: the sources with the
#                                      proofs' reports from BUILD and instructions to reproduce them
#
# A tarball depends only on the contents of the sources and the commit: files are sorted, have one
# date (the commit's, or SOURCE_DATE_EPOCH) and no owner. Its file COMMIT has commit and date.
set -eu
cd "$(dirname "$0")/.."

# The commit and its date in seconds; unknown if git refuses to read the work tree.
commit=unknown
date=0
ours=0
if [ -f COMMIT ]; then
  commit=$(sed -n 1p COMMIT)
  date=$(sed -n 2p COMMIT)
elif [ -e .git ] && git rev-parse --verify -q HEAD >/dev/null 2>&1; then
  ours=1
  commit=$(git describe --always --abbrev=40 --exclude '*')
  [ -z "$(git status --porcelain)" ] || commit=$commit-dirty
  date=$(git log -1 --format=%ct)
fi
date=${SOURCE_DATE_EPOCH:-$date}

# A tarball's files: those that git does not ignore, or those that were unpacked.
files() {
  if [ $ours = 1 ]; then
    git ls-files -co --exclude-standard | while read -r f; do
      if [ -f "$f" ]; then echo "$f"; fi
    done
  else
    find . -type f ! -path './.git/*' ! -path './build*' ! -path './out/*' ! -name COMMIT \
      ! -name '*.pyc' | sed 's|^\./||'
  fi | LC_ALL=C sort
}

# pack NAME FILE: packs the files of $tmp/NAME reproducibly
pack() {
  find "$tmp/$1" -type d -exec chmod 755 {} +
  find "$tmp/$1" -type f -perm -100 -exec chmod 755 {} +
  find "$tmp/$1" -type f ! -perm -100 -exec chmod 644 {} +
  LC_ALL=C tar -C "$tmp" --format=ustar --sort=name --mtime="@$date" --owner=0 --group=0 \
    --numeric-owner -cf - "$1" | gzip -n9 >"$2"
  sha256sum "$2"
}

case $1 in
identity)
  claims=none
  if [ -f CLAIMS.md ]; then claims=$(sha256sum <CLAIMS.md | cut -d' ' -f1); fi
  printf -- '-DZP_%s="%s"\n' VERSION "$2" COMMIT "$commit" CLAIMS "$claims"
  ;;
dist | artifact)
  name=zeroproof-$2
  [ "$1" = dist ] || name=zeroproof-artifact-$2
  tmp=$(mktemp -d)
  trap 'rm -rf "$tmp"' EXIT
  mkdir -p "$3" "$tmp/$name"
  files | tar -cf - -T - | tar -C "$tmp/$name" -xf -
  printf '%s\n%s\n' "$commit" "$date" >"$tmp/$name/COMMIT"
  if [ "$1" = artifact ]; then
    mkdir "$tmp/$name/reports"
    for d in "$3"/proofs "$3"/coq "$3"/spin "$3"/enumerate; do
      if [ ! -d "$d" ]; then
        echo "pack: $d is missing: run make prove coq spin model-check first" >&2
        exit 1
      fi
      find "$d" -type f \( -name '*.json' -o -name '*.csv' -o -name '*.log' -o -name '*.out' \
        -o -name '*.md' -o -name '*.txt' \) | while read -r f; do
        to=$tmp/$name/reports/${f#"$3"/}
        mkdir -p "$(dirname "$to")"
        cp "$f" "$to"
      done
    done
    cp proofs/ARTIFACT.md "$tmp/$name/ARTIFACT.md"
    (cd "$tmp/$name" && find . -type f | LC_ALL=C sort | xargs sha256sum >../sums)
    mv "$tmp/sums" "$tmp/$name/SHA256SUMS"
  fi
  pack "$name" "$3/$name.tar.gz"
  ;;
*)
  echo "pack: unknown command '$1'" >&2
  exit 2
  ;;
esac
