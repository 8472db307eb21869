/* The sub-commands. argv[0] is "zeroproof NAME"; the result is the exit code. */
#ifndef ZP_CLI_COMMANDS_H
#define ZP_CLI_COMMANDS_H

#include "engine_option.h"

/* Picks the sub-command and runs it on the engine that this program has. */
int zp_main(int argc, char **argv, const zp_backend *engine);

int zp_cmd_train(int argc, char **argv, const zp_backend *engine);
int zp_cmd_sim(int argc, char **argv, const zp_backend *engine);
int zp_cmd_fuzz(int argc, char **argv, const zp_backend *engine);
int zp_cmd_plan(int argc, char **argv, const zp_backend *engine);
int zp_cmd_counters(int argc, char **argv, const zp_backend *engine);
int zp_cmd_env(int argc, char **argv, const zp_backend *engine);
int zp_cmd_launch(int argc, char **argv, const zp_backend *engine);
int zp_cmd_elastic(int argc, char **argv, const zp_backend *engine);
int zp_cmd_cases(int argc, char **argv, const zp_backend *engine);
int zp_cmd_oracle(int argc, char **argv, const zp_backend *engine);
int zp_cmd_adapter(int argc, char **argv, const zp_backend *engine);
int zp_cmd_trace(int argc, char **argv, const zp_backend *engine);
int zp_cmd_check(int argc, char **argv, const zp_backend *engine);
int zp_cmd_explain(int argc, char **argv, const zp_backend *engine);
int zp_cmd_report(int argc, char **argv, const zp_backend *engine);

/* Prints where the case's timeline is, if it has one. */
void zp_print_timeline(const zp_case *c, const zp_verdict *v);

/* Reports a timeline that could not be drawn, on standard error. Returns the exit code of the
 * verdict; ZP_EXIT_ENVIRONMENT for a timeline that could not be drawn only if the case is clean. */
int zp_verdict_code(const char *command, const zp_verdict *v);

/* Prints "STAT-4 (norm)", or the clause alone if it has no title; those of a verdict that failed,
 * with commas between them. */
void zp_print_clause(const char *clause);
void zp_print_clauses(const zp_verdict *v);

/* Prints numbers of execution orders; checked: by the happens-before check. */
void zp_print_orders(int64_t orders, int64_t distinct, int64_t offloads, int64_t partials,
                     int64_t checked);

#endif
