#!/bin/sh
# What `make run` shows: tests/demo.sh BUILD.
set -u
zp=$1/zeroproof
if [ -t 1 ]; then bold='\033[1m' plain='\033[0m'; else bold='' plain=''; fi
say() { printf "\n${bold}\$ zeroproof %s${plain}\n" "$*"; }
show() { say "$@"; "$zp" "$@"; }

say plan --pp 4 --dp 2 --micro-batches 8 --svg "$1/pipeline.svg"
"$zp" plan --pp 4 --dp 2 --micro-batches 8 | sed -n '/^Pipeline/,$p'
"$zp" plan --pp 4 --dp 2 --micro-batches 8 --svg "$1/pipeline.svg" || exit
show train --verify --plot "$1/loss.svg" || exit
printf '\nNow a bug that DeepSpeed had is injected on purpose; zeroproof must find it.\n'
show sim --fault pr7847
[ $? -eq 1 ] || { echo "the injected fault was not reported" >&2; exit 1; }
printf '\nThe injected bug was found. DeepSpeed pull request #7847 fixed it.\n'
echo 'Next: see "I want to" in README.md; build/zeroproof help lists the commands.'
