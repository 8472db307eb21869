/* A line beside the training's own communication, on which the processes of a job tell each other of
 * a failure: who has failed, and why. A process that ends without a word is noticed, too.
 *
 * Rank 0 listens, all others stay connected to it, and it passes on what it hears; when it is rank 0
 * that ends, all others notice. Where rank 0 is, and a secret, travel by the job's own exchange. */
#ifndef ZP_ENGINE_ALARM_H
#define ZP_ENGINE_ALARM_H

#include <stddef.h>
#include <stdint.h>

enum { ZP_ALARM_TEXT = 1024 };

typedef struct zp_alarm {
  int32_t rank, status; /* status: the caller's own; ZP_E_PEER for a process that has ended */
  int64_t step;         /* the caller's own; INT64_MIN for a process that has ended */
  char text[ZP_ALARM_TEXT];
} zp_alarm;

typedef struct zp_alarm_line zp_alarm_line;

/* Opens the line: all ranks call it. exchange: as in zp_engine_options. A rank that cannot connect
 * within patience_s, or has not come by then, is left out: it hears nothing, and nothing is heard of
 * it. 0, or -1: the exchange has failed, or there is no memory. */
int zp_alarm_open(zp_alarm_line **out, int32_t rank, int32_t world,
                  int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n), void *ctx,
                  double patience_s);

/* Ranks that this one is connected with: of rank 0 all others, else 1. */
int32_t zp_alarm_connected(const zp_alarm_line *line);

/* Tells all other ranks, without waiting for any. */
void zp_alarm_tell(zp_alarm_line *line, const zp_alarm *alarm);

/* 1 and the first alarm heard, also when it is asked again, else 0. Does not wait. To be called now
 * and then, on rank 0 above all: what others say is passed on here. */
int zp_alarm_hear(zp_alarm_line *line, zp_alarm *alarm);

/* Leaves in peace: nobody takes that for a failure. NULL is allowed. */
void zp_alarm_close(zp_alarm_line *line);

#endif
