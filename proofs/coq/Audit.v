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
