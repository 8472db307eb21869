/* What `zeroproof launch` reports to a supervisor that runs it in a child process. */
#ifndef ZP_CLI_LAUNCH_H
#define ZP_CLI_LAUNCH_H

#include <stdint.h>

typedef struct zp_launch_report {
  int32_t lost;    /* the rank that ended without a report; -1: not known */
  char text[2048]; /* a sentence about it, or "" */
} zp_launch_report;

/* zp_cmd_launch writes a zp_launch_report to fd when its job has ended. -1: it does not. */
void zp_launch_report_to(int fd);

#endif
