/* What `zeroproof launch` reports to a supervisor that runs it in a child process. */
#ifndef ZP_CLI_LAUNCH_H
#define ZP_CLI_LAUNCH_H

#include <argp.h>
#include <stdint.h>

typedef struct zp_launch_report {
  int32_t lost; /* the rank that ended without a report, or is named as the cause; -1: unknown */
  int32_t host_lost; /* 1: its whole host has failed, or does not answer */
  char host[64];     /* its host, as gethostname names it there; "": not known, or this one */
  char text[2048];   /* a sentence about it, or "" */
} zp_launch_report;

/* In the environment of the processes of a supervised job, Open MPI's daemons included, on all
 * hosts: the mark by which zp_remains_end finds them. */
#define ZP_ELASTIC_VARIABLE "ZEROPROOF_ELASTIC"

/* zp_cmd_launch writes a zp_launch_report to fd when its job has ended. -1: it does not. */
void zp_launch_report_to(int fd);

/* A number of seconds, or an error of argp; zero: 0 is one. */
double zp_launch_seconds(struct argp_state *state, const char *flag, const char *arg, int zero);

/* For commands that run `train`: exits with an error if an option of train, and not in `own`,
 * precedes the word train. */
void zp_launch_train_options(const struct argp_option *own, int argc, char **argv);

#endif
