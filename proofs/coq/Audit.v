(* Prints the definitions that the theorems use, their full statements and their assumptions, for an
   auditor. run.sh compares the output with audit.expected. *)
Require Import ZP.Program ZP.NoDeadlock ZP.Schedule ZP.Run ZP.Needed.
Set Printing Width 98.

Print before.
Print op.
Print is_at.
Print resolve.
Print enabled.
Print own.
Print joint.
Print after.
Print step.
Print runs.
Print reachable.
Print finished.
Print stuck.
Print entry.
Print decided_in_time.
Print one_program.
Print H0_shape.
Print H1_equal_ledgers.
Print H2_members_only.
Print H3_clock_increases.
Print H4_equal_clocks.
Print H5_equal_decisions.
Print H6_decided_in_time.
Print run_of.
Print good_run.
Print deadlocks.

Check no_deadlock.
Check executions_are_bounded.
Check every_rank_terminates.
Check the_end_is_reached.
Check outcome_is_unique.
Check no_deadlock_in_a_run.
Check runs_are_bounded.
Check every_rank_terminates_in_a_run.
Check hypotheses_hold_of_good.
Check good_never_deadlocks.
Check hypotheses_hold_of_a_run.
Check without_H1.
Check without_H2.
Check without_H3.
Check without_H4.
Check without_H5.
Check without_H6.
Check norm_by_groups_deadlocks.
Check ungrouped_exchange_deadlocks.
Check grouped_exchange_never_deadlocks.

Print Assumptions no_deadlock.
Print Assumptions executions_are_bounded.
Print Assumptions every_rank_terminates.
Print Assumptions the_end_is_reached.
Print Assumptions outcome_is_unique.
Print Assumptions no_deadlock_in_a_run.
Print Assumptions runs_are_bounded.
Print Assumptions every_rank_terminates_in_a_run.
Print Assumptions hypotheses_hold_of_good.
Print Assumptions good_never_deadlocks.
Print Assumptions hypotheses_hold_of_a_run.
Print Assumptions without_H1.
Print Assumptions without_H2.
Print Assumptions without_H3.
Print Assumptions without_H4.
Print Assumptions without_H5.
Print Assumptions without_H6.
Print Assumptions norm_by_groups_deadlocks.
Print Assumptions ungrouped_exchange_deadlocks.
Print Assumptions grouped_exchange_never_deadlocks.

(* Exact sums. *)
Require Import List Permutation ZArith ZP.Order.
Open Scope Z_scope.

Print sum.
Print worths.
Print S1_clear.
Print S2_add.
Print S3_merge.
Print S4_carry.
Print S5_unique.
Print history.
Print contributions.
Print ends.
Print limb_sum.
Print carried_limbs.

Check sum_any_order.
Check sum_of_parts.
Check every_history_sums.
Check every_order_sums.
Check every_split_sums.
Check limbs_tell_no_history.
Check carried_limbs_are_unique.
Check hypotheses_hold_of_limbs.

Print Assumptions sum_any_order.
Print Assumptions sum_of_parts.
Print Assumptions every_history_sums.
Print Assumptions every_order_sums.
Print Assumptions every_split_sums.
Print Assumptions limbs_tell_no_history.
Print Assumptions carried_limbs_are_unique.
Print Assumptions hypotheses_hold_of_limbs.

(* The planner's programs. *)
Require Import ZP.Op ZP.OpOf ZP.Plan ZP.Valid ZP.Channels ZP.StepHypotheses ZP.Decision.
Require Import ZP.StepDecision ZP.PlannerRun.

Print valid.
Print coord_of.
Print ranks.
Print channel.
Print group_channel.
Print has_ledger.
Print member.
Print members.
Print call.
Print is_comm.
Print channel_of.
Print content_of.
Print clock_of.
Print marked.
Print kind_of.
Print op_of.
Print rank_program.
Print program.
Print program_of.
Print step_of.
Print planned.
Print run_of_phases.
Print world.
Print statistics_call.
Print A1_same_statistics.
Print A2_decides_by_statistics.

Check coord_of_rank.
Check rank_of_coord.
Check members_are_the_group.
Check step_H0.
Check step_H1.
Check step_H2.
Check step_H3.
Check step_H4.
Check step_H5.
Check step_H6.
Check step_never_deadlocks.
Check every_step_terminates.
Check step_outcome_is_unique.
Check steps_are_bounded.
Check equal_decisions.
Check planned_H0.
Check planned_H1.
Check planned_H2.
Check planned_H3.
Check planned_H4.
Check planned_H6.
Check planned_runs_never_deadlock.
Check planned_runs_terminate.
Check planned_runs_are_bounded.
Check planned_outcome_is_unique.
Check small_is_valid.
Check small_communicates.

Print Assumptions coord_of_rank.
Print Assumptions rank_of_coord.
Print Assumptions members_are_the_group.
Print Assumptions step_H0.
Print Assumptions step_H1.
Print Assumptions step_H2.
Print Assumptions step_H3.
Print Assumptions step_H4.
Print Assumptions step_H5.
Print Assumptions step_H6.
Print Assumptions step_never_deadlocks.
Print Assumptions every_step_terminates.
Print Assumptions step_outcome_is_unique.
Print Assumptions steps_are_bounded.
Print Assumptions equal_decisions.
Print Assumptions planned_H0.
Print Assumptions planned_H1.
Print Assumptions planned_H2.
Print Assumptions planned_H3.
Print Assumptions planned_H4.
Print Assumptions planned_H6.
Print Assumptions planned_runs_never_deadlock.
Print Assumptions planned_runs_terminate.
Print Assumptions planned_runs_are_bounded.
Print Assumptions planned_outcome_is_unique.
Print Assumptions small_is_valid.
Print Assumptions small_communicates.

(* Sharded equals serial. *)
Require Import ZP.Assertions ZP.MeaningChannels ZP.Meaning ZP.Serial ZP.MeaningLayout ZP.Contract.
Require Import ZP.Gradients ZP.Pipeline ZP.Tail ZP.Updates ZP.Ties ZP.TiedGroups ZP.TiedOps.
Require Import ZP.World ZP.StepShape.
Require Import ZP.ShardedEqualsSerial.
Require Import ZP.Execute ZP.Falsified ZP.Start ZP.Joined.

Print MeaningChannels.chan.
Print MeaningChannels.coord_of.
Print MeaningChannels.members.
Print MeaningChannels.first_member.
Print MeaningChannels.chan_of.
Print MeaningChannels.content_of.
Print MeaningChannels.synchronized.
Print MeaningChannels.step_of.
Print MeaningChannels.rank_program.
Print Meaning.part.
Print Meaning.in_bucket.
Print Meaning.in_part.
Print Meaning.group_index.
Print Meaning.counts.
Print Meaning.storage.
Print Meaning.mem.
Print Meaning.store.
Print Meaning.values.
Print Meaning.statistics.
Print Meaning.forward.
Print Meaning.backward.
Print Meaning.element.
Print Meaning.add.
Print Meaning.counted.
Print Meaning.means.
Print Meaning.updates.
Print Meaning.local_op.
Print Meaning.elements.
Print Meaning.reduced.
Print Meaning.gathered.
Print Meaning.collective.
Print Meaning.hop.
Print Meaning.named_flat.
Print Meaning.key_flats.
Print Meaning.kept_from.
Print Meaning.tied.
Print Meaning.exchange_in.
Print Meaning.exchange.
Print Meaning.compute_in.
Print Meaning.decide.
Print Serial.copy_of.
Print Serial.copies.
Print Serial.first_use.
Print Serial.serial.
Print Serial.stage_values.
Print Serial.input_n.
Print Serial.tape.
Print Serial.grad_in_n.
Print Serial.contribution.
Print Serial.use_sum.
Print Serial.serial_sum.
Print Serial.serial_words.
Print Serial.serial_statistics.
Print Serial.serial_go.
Print Serial.new_state.
Print Serial.serial_step.
Print MeaningLayout.proper.
Print Contract.lies.
Print Contract.owns.
Print Contract.place_of.
Print Contract.sends.
Print Contract.gets.
Print Pipeline.base.
Print Pipeline.shares_storage.
Print Tail.storage_is_held.
Print Tail.keys_agree.
Print Ranks.counted_once.
Print ShardedEqualsSerial.agrees.
Print ShardedEqualsSerial.begin_next.
Print ShardedEqualsSerial.stepped.
Print ShardedEqualsSerial.trains.
Print Start.start_of.
Print Assertions.keeps_contract.
Print Assertions.checks.
Print Execute.execute.
Print Falsified.toy.
Print Falsified.tied_toy.
Print Falsified.outcome_of.

Check assertions_hold.
Check decisions_hold.
Check step_shape.
Check step_decided_in_time.
Check storage_of_valid_is_shared.
Check storage_of_valid_is_held.
Check keys_of_valid_agree.
Check keys_are_counted_once.
Check tied_ops_ok.
Check contract_kept.
Check sharded_step.
Check decisions_equal.
Check step_ends.
Check sharded_run.
Check start_agrees.
Check execute_runs.
Check outcome_is_of_all.
Check right_at_stage_0.
Check right_at_stage_1.
Check right_at_stage_2.
Check right_when_skipped.
Check a_wrong_bucket_differs.
Check a_wrong_activation_slot_differs.
Check a_wrong_bucket_slot_differs.
Check a_swapped_micro_batch_differs.
Check an_exchange_left_out_differs.
Check a_send_left_out_is_stuck.
Check tied_toy_is_valid.
Check right_with_ties_at_stage_0.
Check right_with_ties_at_stage_1.
Check right_with_ties_at_stage_2.
Check ties_left_out_differ.
Check ties_left_out_on_one_stage_are_stuck.
Check a_wrong_tied_bucket_differs.
Check a_wrong_tied_flat_group_differs.
Check valid_is_proper.
Check joined_H1.
Check joined_H2.
Check joined_H3.
Check joined_H4.
Check planned_step_is_serial.
Check planned_steps_are_serial.
Check planned_step_ends.
Check planned_step_is_completed.

Print Assumptions assertions_hold.
Print Assumptions decisions_hold.
Print Assumptions step_shape.
Print Assumptions step_decided_in_time.
Print Assumptions storage_of_valid_is_shared.
Print Assumptions storage_of_valid_is_held.
Print Assumptions keys_of_valid_agree.
Print Assumptions keys_are_counted_once.
Print Assumptions tied_ops_ok.
Print Assumptions contract_kept.
Print Assumptions sharded_step.
Print Assumptions decisions_equal.
Print Assumptions step_ends.
Print Assumptions sharded_run.
Print Assumptions start_agrees.
Print Assumptions execute_runs.
Print Assumptions outcome_is_of_all.
Print Assumptions right_at_stage_0.
Print Assumptions right_at_stage_1.
Print Assumptions right_at_stage_2.
Print Assumptions right_when_skipped.
Print Assumptions a_wrong_bucket_differs.
Print Assumptions a_wrong_activation_slot_differs.
Print Assumptions a_wrong_bucket_slot_differs.
Print Assumptions a_swapped_micro_batch_differs.
Print Assumptions an_exchange_left_out_differs.
Print Assumptions a_send_left_out_is_stuck.
Print Assumptions tied_toy_is_valid.
Print Assumptions right_with_ties_at_stage_0.
Print Assumptions right_with_ties_at_stage_1.
Print Assumptions right_with_ties_at_stage_2.
Print Assumptions ties_left_out_differ.
Print Assumptions ties_left_out_on_one_stage_are_stuck.
Print Assumptions a_wrong_tied_bucket_differs.
Print Assumptions a_wrong_tied_flat_group_differs.
Print Assumptions valid_is_proper.
Print Assumptions joined_H1.
Print Assumptions joined_H2.
Print Assumptions joined_H3.
Print Assumptions joined_H4.
Print Assumptions planned_step_is_serial.
Print Assumptions planned_steps_are_serial.
Print Assumptions planned_step_ends.
Print Assumptions planned_step_is_completed.

(* Without barriers; valid configurations; SAVE and LOAD. *)
Require Import ZP.NoBarrier ZP.Between ZP.Examples ZP.Storage ZP.Saved ZP.SavedState ZP.Loaded.
Require Import ZP.SaveLoadEnds ZP.Writers ZP.Continued.
Require Import ZP.SaveFalsified.

Print leads.
Print begin_op.
Print begin_program.
Print steps_compute.
Print steps_programs.
Print steps_run.
Print Examples.untied.
Print pair_agrees.
Print valid_b.
Print untied_b.
Print mixed.
Print tied_keys.
Print address.
Print copy_tp.
Print address_of.
Print Storage.records.
Print saver.
Print Storage.held.
Print bucket_records.
Print entry_records.
Print Storage.written.
Print save_op.
Print save_exchange.
Print checkpoint.
Print lookup.
Print loader.
Print element_of.
Print at_address.
Print read_state.
Print read_param.
Print set_v.
Print load_op.
Print load_exchange.
Print save_of.
Print load_of.
Print Storage.saves.
Print Storage.loads.
Print save_compute.
Print load_compute.
Print no_decide.
Print published.
Print saved_value.
Print addressed.
Print is_of.
Print fits.
Print Loaded.rounded.
Print Loaded.replicated.
Print SaveLoadEnds.ends.
Print steps_reached.
Print all_finished.
Print saved_from.
Print loaded_into.
Print t_state.
Print t_serial.
Print t_agrees.
Print round_trip_of.
Print small_split.
Print wide_split.
Print trip.

Check barriers_are_a_schedule.
Check barriers_do_not_matter.
Check runs_without_barriers_end.
Check unbarriered_steps_are_serial.
Check unbarriered_steps_never_deadlock.
Check unbarriered_steps_end.
Check local_state_is_unique.
Check between_programs.
Check between_steps_is_serial.
Check valid_is_decided.
Check untied_is_decided.
Check mixed_is_valid.
Check mixed_has_groups_and_buckets.
Check tied_keys_are_valid.
Check save_is_serial.
Check saved_once.
Check load_is_serial.
Check saved_then_loaded.
Check serial_steps_keep_rounded.
Check save_ends.
Check load_ends.
Check continued_is_serial.
Check continued_is_uninterrupted.
Check round_trip_0_1.
Check round_trip_1_2.
Check round_trip_2_0.
Check a_wrong_bucket_is_loaded.
Check a_wrong_state_is_loaded.
Check a_frozen_entry_left_out_is_missing.
Check a_gather_left_out_differs.
Check a_seal_left_out_differs.
Check splits_fit.

Print Assumptions barriers_are_a_schedule.
Print Assumptions barriers_do_not_matter.
Print Assumptions runs_without_barriers_end.
Print Assumptions unbarriered_steps_are_serial.
Print Assumptions unbarriered_steps_never_deadlock.
Print Assumptions unbarriered_steps_end.
Print Assumptions local_state_is_unique.
Print Assumptions between_programs.
Print Assumptions between_steps_is_serial.
Print Assumptions valid_is_decided.
Print Assumptions untied_is_decided.
Print Assumptions mixed_is_valid.
Print Assumptions mixed_has_groups_and_buckets.
Print Assumptions tied_keys_are_valid.
Print Assumptions save_is_serial.
Print Assumptions saved_once.
Print Assumptions load_is_serial.
Print Assumptions saved_then_loaded.
Print Assumptions serial_steps_keep_rounded.
Print Assumptions save_ends.
Print Assumptions load_ends.
Print Assumptions continued_is_serial.
Print Assumptions continued_is_uninterrupted.
Print Assumptions round_trip_0_1.
Print Assumptions round_trip_1_2.
Print Assumptions round_trip_2_0.
Print Assumptions a_wrong_bucket_is_loaded.
Print Assumptions a_wrong_state_is_loaded.
Print Assumptions a_frozen_entry_left_out_is_missing.
Print Assumptions a_gather_left_out_differs.
Print Assumptions a_seal_left_out_differs.
Print Assumptions splits_fit.
