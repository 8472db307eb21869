# Each rule of simdev, broken on purpose in a copy of its sources, is missed by the test that states
# it: a table of what simdev promises, where, and which test would notice.
. tests/cli/lib.sh

# Under sanitizers only the plain tests run: this is about what they look at.
[ "${SAN:-0}" = 1 ] && exit 0
build=${ZP_BUILD:-build}
cc=${CC:-gcc}
headers=$(${MAKE:-make} --no-print-directory -s --eval='headers: ; @echo $(CUDA_CPPFLAGS)' headers)
mkdir "$tmp/o"
cp -r cuda/simdev "$tmp/simdev"

compiled() { # compiled FILE: $tmp/o/FILE.o of the copy
  "$cc" -std=c11 -O1 -w $headers -c "$tmp/simdev/$1" -o "$tmp/o/$1.o" 2>"$tmp/out"
}
tried() { # tried PROGRAM SUITE/TEST: runs one test on the copy
  "$cc" -o "$tmp/test" "$build/tests/simdev/$1.o" "$tmp"/o/*.o -lcriterion -lm 2>"$tmp/out" &&
    timeout 60 "$tmp/test" --filter "$2" >"$tmp/out" 2>&1
}

for source in cuda/simdev/*.c; do
  compiled "${source##*/}" || verdict 1 "compiles:${source##*/}" "$(head -2 "$tmp/out")"
done

broken() { # broken NAME FILE SED PROGRAM SUITE/TEST: that test must pass, and fail with the fault
  if ! tried "$4" "$5" || ! grep -q 'Tested: [1-9]' "$tmp/out"; then
    verdict 1 "broken:$1" "$5 does not pass without the fault: $(head -2 "$tmp/out")"
    return
  fi
  sed "$3" "cuda/simdev/$2" >"$tmp/simdev/$2"
  cp "$tmp/o/$2.o" "$tmp/kept.o"
  if cmp -s "cuda/simdev/$2" "$tmp/simdev/$2"; then
    verdict 1 "broken:$1" "sed changed nothing in $2"
  elif ! compiled "$2"; then
    verdict 1 "broken:$1" "does not compile: $(head -2 "$tmp/out")"
  else
    tried "$4" "$5"
    [ $? -ne 0 ]
    verdict $? "broken:$1" "$5 passes"
  fi
  cp "cuda/simdev/$2" "$tmp/simdev/$2"
  cp "$tmp/kept.o" "$tmp/o/$2.o"
}

# ---- Streams and events
broken the_legacy_stream_waits_for_nobody stream.c \
  's/if (!legacy || (st->flags/if (1 || (st->flags/' \
  test_stream legacy/orders_blocking_streams_both_ways
broken it_waits_for_non_blocking_streams stream.c 's/(x->flags & cudaStreamNonBlocking)/0/' \
  test_stream legacy/does_not_order_non_blocking_streams
broken they_wait_for_it stream.c 's/|| (st->flags & cudaStreamNonBlocking)) return;/) return;/' \
  test_stream legacy/does_not_order_non_blocking_streams
broken the_per_thread_stream_is_the_legacy_one stream.c 's/= per_thread ? &h->own/= 0 ? \&h->own/' \
  test_ptds per_thread_default_stream/is_each_hosts_own
broken the_per_thread_stream_is_non_blocking stream.c \
  's/h->device, cudaStreamDefault,/h->device, per_thread,/' \
  test_stream legacy/orders_the_per_thread_stream
broken a_wait_takes_the_first_record cuda_stream.c 's/ev->record = item;/if (!ev->record) &/' \
  test_stream event/a_wait_takes_the_record_current_at_the_call
broken never_recorded_is_an_error cuda_stream.c \
  's/WAIT && !ev->record) return cudaSuccess/WAIT \&\& !ev->record) return cudaErrorInvalidValue/' \
  test_stream event/one_never_recorded_holds_nobody_up
broken a_wait_does_nothing stream.c 's/if (dep->done) continue;/continue;/' \
  test_stream stream/a_wait_orders_two_streams_under_every_order
broken a_query_waits cuda_stream.c '/cudaEventQuery(/,/^}/ s/sd_park(h, ev->record);/&return 0;/' \
  test_stream event/a_query_says_not_ready_until_the_work_is_done
broken callbacks_may_call_cuda host.c 's/if (s && s->in_callback)/if (0)/' \
  test_stream host_function/may_not_call_cuda

# ---- Copies
broken pageable_copies_read_at_once cuda_memory.c \
  's/return sd_below(s, 2) ? AT_ONCE : DONE_BY_CHANCE/return DONE/' \
  test_memory copy/asynchronous_may_not_have_read_its_source_yet
broken pageable_copies_are_never_staged cuda_memory.c \
  's/if (from == SD_PAGEABLE && sd_below(s, 3) == 0) return STAGED;//
   s/return sd_below(s, 2) ? AT_ONCE : DONE_BY_CHANCE/return AT_ONCE/' \
  test_memory copy/asynchronous_may_not_have_read_its_source_yet
broken a_staged_copy_is_done cuda_memory.c 's/return from == SD_PAGEABLE ? STAGED : DONE/return DONE/' \
  test_memory copy/synchronous_promises_what_the_manual_says
broken a_synchronous_copy_comes_back_early cuda_memory.c \
  's/return from == SD_PAGEABLE ? STAGED : DONE/return AT_ONCE/' \
  test_memory copy/synchronous_has_read_its_source
broken copies_between_device_addresses_wait cuda_memory.c \
  's/from == SD_DEVICE) return AT_ONCE/from == SD_DEVICE) return DONE/' \
  test_memory copy/from_device_to_device_does_not_wait

# ---- Memory
broken new_memory_is_not_poisoned memory.c 's/sd_memory_poison(s, a->at, bytes, 0);//' \
  test_memory memory/is_never_zero_by_itself_and_differs_by_seed
broken freed_memory_is_not_poisoned memory.c 's/sd_memory_poison(s, a->at, a->bytes, 1);//' \
  test_memory lifetime/ends_with_poison
broken freed_memory_may_be_used memory.c 's/a->rank == rank && !a->freed &&/a->rank == rank \&\&/' \
  test_memory lifetime/of_freed_memory_has_ended
broken memory_may_be_freed_while_used memory.c 's/check_pending(s, a, NULL);//' \
  test_memory lifetime/may_not_end_while_an_item_uses_the_memory
broken guards_are_not_looked_at memory.c 's/i = first_touched(g, n);/i = n;/' \
  test_memory bounds/of_a_kernel_are_checked_by_guards
broken bounds_are_off_by_one memory.c 's/n <= a->bytes - at)/n <= a->bytes - at + 1)/' \
  test_memory bounds/of_a_memset
broken ranks_share_memory memory.c 's/if (a && a->rank == rank && /if (a \&\& /' \
  test_memory ranks/do_not_share_memory
broken shared_memory_is_kept exec.c 's/if (k->shared && phases > 0) sd_memory_poison/if (0) sd_memory_poison/' \
  test_kernel kernel/shared_memory_is_poisoned_for_each_block
broken threads_run_upwards exec.c 's/sd_random(s) % threads/0/; s/sd_below(s, 2) == 0/0/' \
  test_kernel kernel/threads_and_blocks_have_no_promised_order
for leak in a_stream:st-\>mark an_event:e-\>mark memory:!r-\>list.i..freed; do
  broken "a_leak_of_${leak%%:*}" report.c "s/if (${leak#*:} /if (0 \\&\\& &/; s/if (0 && if (/if (0 \\&\\& /
    s/if (${leak#*:} \\&\\&/if (0 \\&\\&/" test_memory leaks/are_listed_with_rank_and_call
done
broken a_leak_of_a_communicator report.c 's/  sd_comm_leaks(s);//' \
  test_mismatch leaks/of_communicators

# ---- NCCL
broken a_group_is_launched_op_by_op nccl_group.c 's/if (g->depth == 0) return end(h);/return end(h);/' \
  test_comm p2p/a_group_needs_no_buffering
broken a_group_of_two_streams_orders_one nccl_launch.c \
  's/for (int32_t i = 0; i < l->streams; i++) {$/for (int32_t i = 0; i < 1; i++) {/' \
  test_comm group/with_two_streams_orders_both
broken non_blocking_calls_block nccl_group.c 's/if (non_blocking) return launch_later(h, list);//' \
  test_comm_order non_blocking/an_event_before_success_misses_the_work
broken operations_are_said_to_have_succeeded nccl_group.c 's/^  return ncclInProgress;/  return 0;/' \
  test_comm_order non_blocking/every_call_is_in_progress
broken communicators_are_said_to_be_ready nccl_job.c 's/^    return ncclInProgress;/    return 0;/' \
  test_comm_order non_blocking/every_call_is_in_progress
broken a_call_while_in_progress_is_allowed nccl_comm.c 's/if (!ready) return/return/' \
  test_comm_order non_blocking/a_call_while_in_progress_is_an_error
broken what_nobody_asks_for_is_never_done nccl_job.c 's/if (!s->late_jobs) return 0;/return 0;/' \
  test_comm_order non_blocking/is_done_without_being_asked_for
broken a_parent_may_be_busy nccl_comm.c 's/if (comm->outstanding > 0) {/if (0) {/' \
  test_comm split/with_operations_outstanding_is_an_error
for early in 0 1; do
  broken "sends_are_always:$early" sched.c "s/s->early = (int32_t)sd_below(s, 3);/s->early = $early;/" \
    test_comm p2p/a_send_may_wait_for_its_receive
done
broken sends_never_wait nccl_launch.c 's/case SD_SEND: return op->early ||/case SD_SEND: return 1 ||/' \
  test_comm p2p/a_send_may_wait_for_its_receive
for value in 0 1; do
  broken "one_kernel_at_a_time_is_always:$value" sched.c \
    "s/s->one_comm = sd_below(s, 4) == 0;/s->one_comm = $value;/" \
    test_comm_order order/with_one_kernel_is_by_seed
  broken "issue_order_is_always:$value" sched.c \
    "s/s->serialize = sd_below(s, 8) == 0;/s->serialize = $value;/" \
    test_stream stream/one_queue_is_by_seed
done
broken issue_order_is_not_kept stream.c 's/(s->serialize && item->kind/(0 \&\& item->kind/' \
  test_stream stream/an_idle_device_and_one_queue_hide_a_missing_wait
broken communicators_are_in_order_by_themselves nccl_launch.c 's/if (s->one_comm && /if (0 \&\& /' \
  test_comm_order order/of_unordered_communicators_can_deadlock_a_device_with_one_kernel
broken implicit_order_is_ignored nccl_launch.c 's/if (l->comm->implicit)/if (0)/' \
  test_comm_order order/is_implicit_where_nccl_is_told_so
broken variables_are_read_at_every_call nccl_comm.c 's/if (r->nccl_used) return;//' \
  test_comm_order order/is_not_implicit_where_nccl_is_told_so_too_late_or_too_old
broken the_version_says_nothing nccl_comm.c 's/(!version || version >= [^)]*))/1/' \
  test_comm_order order/is_not_implicit_where_nccl_is_told_so_too_late_or_too_old

# ---- Loading, contexts
for rule in 's/return s->lazy ?/return 0 ?/' 's/attributes->binaryVersion =/return cudaSuccess; &/'; do
  broken "loading:$rule" cuda_function.c "$rule" \
    test_comm_order loading/at_the_first_launch_may_wait_for_the_device
done
broken every_thread_has_a_context cu_driver.c 's/if (!h->bound)/if (0)/' \
  test_word word/a_thread_needs_cudaSetDevice_before_it

# ---- Mismatches and deadlocks
for what in kind:operations count:counts dtype:types redop:operators peer:roots together:grouping; do
  broken "mismatch_of_${what#*:}" nccl_match.c \
    "/^static int same(/,/^}/ s/a->${what%:*} == b->${what%:*}/1/" \
    test_mismatch "mismatch/of_${what#*:}"
done
broken mismatch_of_messages nccl_match.c 's/if (op->count == op->partner->count && /if (1 || /' \
  test_mismatch mismatch/of_messages
broken a_deadlock_is_no_finding sched.c 's/if (!finished(s)) sd_report_deadlock(s);//' \
  test_mismatch deadlock/names_who_has_not_come
broken a_deadlock_names_nobody nccl_match.c 's/if (!theirs || !theirs->started) put_missing/if (0) put_missing/' \
  test_mismatch deadlock/names_who_has_not_come

# ---- Orders
broken every_seed_is_the_same sim.c 's/s->random = s->opt.seed \*/s->random = 7 */' \
  test_stream schedule/a_seed_replays_and_seeds_differ
broken a_seed_does_not_replay sim.c 's/s->random = s->opt.seed \*/s->random += s->opt.seed */' \
  test_stream schedule/reset_forgets_the_run_before
broken pct_is_random sched.c 's/case SIMDEV_PCT: return highest(s);//' \
  test_stream schedule/pct_changes_its_mind_as_often_as_it_is_told
broken pct_never_changes sched.c 's/s->pct_change\[i\] == s->decisions/0/' \
  test_stream schedule/pct_changes_its_mind_as_often_as_it_is_told

# ---- Faults
broken no_error_is_planted fault.c 's/\*e = (cudaError_t)s->opt.faults\[i\].error;/*e = 0;/' \
  test_fault fault/an_error_comes_from_the_call_that_was_named
broken errors_come_a_call_too_early fault.c 's/++s->fault_seen\(.*\) == f->n/++s->fault_seen\1 + 1 == f->n/' \
  test_fault fault/an_error_comes_from_the_call_that_was_named
broken a_stopped_rank_goes_on fault.c 's/^    sd_stop(s, h);//' \
  test_fault fault/a_stopped_rank_is_named_by_a_deadlock
broken a_dead_rank_has_streams fault.c 's/s->rank\[h->agent.rank\].dead = 1;//' \
  test_fault fault/a_rank_dies_with_all_its_hosts
broken a_slow_stream_is_not fault.c 's/st->agent.slow = 1;//' \
  test_fault fault/a_slow_stream_is_overtaken
broken a_slow_host_is_not fault.c 's/h->agent.slow = 1;//' \
  test_fault fault/a_slow_host_ends_last_under_every_order
broken slow_hosts_are_not_under_pct sched.c 's/a->slow != best->slow ? best->slow : //' \
  test_fault fault/a_slow_host_ends_last_under_every_order
broken nothing_is_dropped fault.c 's/f->n == n)$/0)/' \
  test_fault fault/a_dropped_record_or_wait_is_a_wrong_result
broken items_do_not_fail fault.c 's/return (cudaError_t)f->error;/return 0;/' \
  test_fault fault/of_an_item_is_sticky
finish
