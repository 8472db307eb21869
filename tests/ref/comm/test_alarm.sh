# The alarm channel of a job: all processes learn at once which rank failed, and why. spec: LEDG-7
# inputs: build/tests/drivers/mpi/alarm_driver tests/fixtures/lib.sh
# alone: processes are killed
. tests/fixtures/lib.sh
driver=${ZP_BUILD:-build}/tests/drivers/mpi/alarm_driver

# The addresses at which processes of this test listen, until process LAST has ended: hexadecimal,
# as /proc/net/tcp has them, in $tmp/ports. Rank 0 listens until the late rank is given up.
watch_port() { # watch_port LAST
  : >"$tmp/ports"
  while kill -0 "$1" 2>/dev/null; do
    for process in $(grep -las -e "^$driver" /proc/[0-9]*/cmdline); do
      find "${process%cmdline}fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null
    done | tr -dc '0-9\n' | sort -u >"$tmp/sockets"
    awk 'NR == FNR { mine[$1]; next } $4 == "0A" && $10 in mine { print $2 }' "$tmp/sockets" \
      /proc/net/tcp >>"$tmp/ports"
    sleep 0.2
  done
}
# torchrun's variables: mpirun would end the others. line FAULT RANK
line() {
  k=0
  while [ $k -lt 5 ]; do
    RANK=$k WORLD_SIZE=5 LOCAL_RANK=$k LOCAL_WORLD_SIZE=5 TORCHELASTIC_RUN_ID="line-$$" \
      timeout 900 "$driver" "$1" "$2" >"$tmp/out.$k" 2>&1 &
    k=$((k + 1))
  done
  [ "$1" != late ] || watch_port "$!"
  wait
  cat "$tmp"/out.[0-4] >"$tmp/out"
}
got() { # got NUMBER PATTERN NAME
  [ "$(grep -cE -e "$2" "$tmp/out")" -eq "$1" ]
  verdict $? "$3" "not $1 times '$2': $(head -c 800 "$tmp/out")"
}
line none 0
got 1 '^rank 0 is connected with 4$' rank_0_is_connected_with_all
got 4 '^rank [1-4] is connected with 1$' all_are_connected_with_rank_0
got 0 'received' a_rank_that_leaves_without_failure_raises_no_alarm
for r in 0 3; do
  line tell $r
  got 4 "^rank [0-4] received: of rank $r, status -42, step 7: rank $r says: something is wrong$" \
    "what_rank_${r}_reports_before_it_ends_reaches_all"
  for how in kill exit; do
    line $how $r
    got 4 "^rank [0-4] received: of rank $r, .*: rank $r: its process has ended without a word$" \
      "the_${how}_of_rank_${r}_reaches_all"
  done
done
line late 2
got 1 '^rank 0 is connected with 3$' a_late_rank_is_left_out
[ -s "$tmp/ports" ] && ! grep -qv '^0100007F:' "$tmp/ports"
verdict $? on_one_host_rank_0_listens_on_loopback_only "$(sort -u "$tmp/ports" | head -n 5)"
got 1 '^rank 2 is connected with 0$' a_late_rank_knows_that_it_is_left_out
got 0 'received' a_rank_that_never_connected_raises_no_alarm
finish
