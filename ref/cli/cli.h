/* What all sub-commands share: exit codes, parsing, which processes print. */
#ifndef ZP_CLI_CLI_H
#define ZP_CLI_CLI_H

#include <argp.h>
#include <stdint.h>

/* Exit codes of the command. */
enum {
  ZP_EXIT_GOOD = 0,
  ZP_EXIT_VERDICT = 1,    /* a check failed */
  ZP_EXIT_REFUSED = 2,    /* the input is refused: options, and files that are read */
  ZP_EXIT_ENVIRONMENT = 3 /* the environment failed: memory, files written, processes, peers */
};

/* 0 in a process of an MPI job that leaves refusals to rank 0, which finds the same. The first
 * process of each machine speaks, too: a file may be missing only there. */
int zp_cli_speaks(void);

/* Parses with argp; 0, or ZP_EXIT_REFUSED after a message. --help and --usage end the process. */
int zp_cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* The exit code that a zp_status stands for. */
int zp_exit_of(int32_t status);

#endif
