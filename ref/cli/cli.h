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

/* Prints "COMMAND: MESSAGE" to standard error; in a job of several processes "COMMAND: rank N:
 * MESSAGE", except on rank 0. If a process of the job on this host with a lower rank has the same
 * arguments, it reports the same, and the launcher ends this process before it does; without one,
 * or if that process is not refused, this one reports. Returns ZP_EXIT_REFUSED. */
int zp_cli_refuse(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Parses with argp; 0, or ZP_EXIT_REFUSED after a message, as of zp_cli_refuse. --help and --usage
 * end the process. */
int zp_cli_parse(const struct argp *argp, int argc, char **argv, void *input);

/* The exit code that a zp_status stands for. */
int zp_exit_of(int32_t status);

#endif
