#!/bin/sh
# Puts every subject through the suite: sh conformance/run.sh BUILD [SUBJECT...]. `make conformance`.
#
# Reports go to BUILD/conformance/SUBJECT, the summary to BUILD/conformance/RESULTS.md; with ACCEPT=1 it
# becomes conformance/RESULTS.md. CASES bounds the cases of a subject (CI's selection), SECONDS_EACH lets it go
# on with random ones. Exit code: 1 when a subject has failures that conformance/known does not list.
set -u
cd "$(dirname "$0")/.." || exit 3
build=${1:?usage: run.sh BUILD [SUBJECT...]}
shift
all="ref torch-ddp deepspeed-0.19.7 deepspeed-0.19.8 deepspeed-pipe-0.19.7 deepspeed-pipe-0.19.8"
all="$all torch-zero torch-fsdp torch-pipelining megatron-core-0.16.1"
out=$build/conformance
code=0

python_of() { # python_of ENVIRONMENT
  sh conformance/subject.sh "$1" 2>"$out/install.log" || {
    cat "$out/install.log" >&2
    exit 3
  }
}

adapter_of() { # adapter_of SUBJECT: the command line of its adapter
  case $1 in
  ref) echo "$build/zeroproof adapter" ;;
  torch-ddp) echo "$(python_of torch-2.13.0) conformance/adapters/ddp_example.py" ;;
  torch-zero) echo "$(python_of torch-2.13.0) conformance/adapters/ddp_adapter.py" ;;
  torch-fsdp | torch-pipelining)
    echo "$(python_of torch-2.13.0) conformance/adapters/${1#torch-}_adapter.py"
    ;;
  megatron-core-*) echo "$(python_of "$1") conformance/adapters/megatron_adapter.py" ;;
  deepspeed-pipe-*)
    echo "$(python_of "deepspeed-${1#deepspeed-pipe-}") conformance/adapters/deepspeed_pipe_adapter.py"
    ;;
  deepspeed-*) echo "$(python_of "$1") conformance/adapters/deepspeed_adapter.py" ;;
  *)
    echo "run.sh: there is no subject '$1'; there are: $all" >&2
    exit 2
    ;;
  esac
}

mkdir -p "$out"
reports=
for subject in ${*:-$all}; do
  command=$(adapter_of "$subject") || exit $?
  echo "== $subject"
  "$build/zeroproof" check --adapter "$command" --out "$out/$subject" --log "$out/$subject.log" \
    ${CASES:+--cases "$CASES"} ${SECONDS_EACH:+--seconds "$SECONDS_EACH"} || code=1
  reports="$reports $out/$subject/report.json"
done
python3 -B conformance/judge/results.py $reports >"$out/RESULTS.md"
[ "${ACCEPT:-0}" = 1 ] && cp "$out/RESULTS.md" conformance/RESULTS.md
exit $code
