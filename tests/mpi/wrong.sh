# Read by the tests of the public engine, over MPI and on CUDA: what one process says of a misuse.
# The reader has complain and law, and says how a driver runs alone: $alone.

# wrong FAULT PATTERN [ARGUMENTS…]
wrong() {
  fault=$1
  pattern=$2
  shift 2
  # shellcheck disable=SC2086
  $alone "fault=$fault" "$@" >"$tmp/out" 2>&1
  code=$?
  [ $code -eq 3 ] || complain "exit code $code"
  grep -qE -e "$pattern" "$tmp/out" || complain "no '$pattern' in $(head -c 500 "$tmp/out")"
  law "names_$fault${1:+_}$(echo "${1:-}" | tr -c '[:alnum:]\n' _)"
}

# What both refuse in the same words: their options.
wrong options '^options are NULL$'
wrong size '^options.size is 12; set it to sizeof\(zp_engine_options\)$'
wrong world 'options.world is 2, and the configuration.s pp x dp x tp = 1 x 1 x 1 needs 1'
wrong stage 'rank 0: options.config: stage: 3 is out of range; allowed is 0 to 2'
wrong half 'options.forward, backward: both or none'
