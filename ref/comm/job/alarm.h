/* A channel beside the training's own communication, on which the processes of a job report
 * failures to each other: which rank has failed, and why. A process that ends without a report is
 * detected as well.
 *
 * Rank 0 listens, all other ranks stay connected to it, and it forwards each alarm. If rank 0 ends,
 * all others detect it. The job's own exchange transfers the address of rank 0 and a secret. */
#ifndef ZP_COMM_ALARM_H
#define ZP_COMM_ALARM_H

#include <stddef.h>
#include <stdint.h>

enum { ZP_ALARM_TEXT = 1024 };

typedef struct zp_alarm {
  int32_t rank, status; /* status: the caller's own; ZP_E_PEER for a process that has ended */
  int64_t step;         /* the caller's own; INT64_MIN for a process that has ended */
  char text[ZP_ALARM_TEXT];
} zp_alarm;

typedef struct zp_alarm_line zp_alarm_line;

/* Opens the channel: all ranks call it. exchange: as in zp_engine_options. host: the address or the
 * name of rank 0's host at which it listens, as zp_job.address, or "127.0.0.1" if all ranks are on
 * that host; NULL: unknown, then it listens on all interfaces. A rank that does not
 * connect within patience_s is left out: it neither receives nor sends alarms. Returns 0, or -1 if
 * the exchange failed or memory ran out. */
int zp_alarm_open(zp_alarm_line **out, int32_t rank, int32_t world,
                  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n), void *ctx,
                  const char *host, double patience_s);

/* The number of ranks connected to this one: on rank 0 up to all others, elsewhere at most 1. */
int32_t zp_alarm_connected(const zp_alarm_line *line);

/* Sends an alarm to all other ranks. Does not block. */
void zp_alarm_tell(zp_alarm_line *line, const zp_alarm *alarm);

/* Returns 1 and the first alarm received, in every later call as well; otherwise 0. Does not block.
 * Call it regularly, above all on rank 0, which forwards alarms in it. */
int zp_alarm_hear(zp_alarm_line *line, zp_alarm *alarm);

/* Leaves the channel; no other rank takes this for a failure. NULL is allowed. */
void zp_alarm_close(zp_alarm_line *line);

#endif
