/* ZP_LOG=ops,streams,comm (or all) in the environment: one line on standard error for each op
 * that an engine issues, for each wait, record and launch of its streams, and for each
 * communication. For people who debug a run; without the variable nothing is printed. */
#ifndef ZP_ENGINE_LOG_H
#define ZP_ENGINE_LOG_H

#include <stdint.h>

#include "../plan/program.h"

typedef enum zp_log_topic { ZP_LOG_OPS = 1, ZP_LOG_STREAMS = 2, ZP_LOG_COMM = 4 } zp_log_topic;

/* Of one rank. engine: "ref" or "cuda", as a comparison runs both. topics: of zp_log_topic, or'ed;
 * 0: nothing is logged. */
typedef struct zp_log {
  const char *engine;
  int32_t rank;
  uint32_t topics;
} zp_log;

/* Reads the variable; reports topics that do not exist on standard error. */
zp_log zp_log_open(const char *engine, int32_t rank);

/* 1: the topic is logged. */
static inline int zp_log_has(const zp_log *log, zp_log_topic topic)
{
  return (log->topics & (uint32_t)topic) != 0;
}

/* Prints "zeroproof: ENGINE rank R TOPIC: " and the rest of one line. To be called if
 * zp_log_has. */
void zp_log_line(const zp_log *log, zp_log_topic topic, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The line of an op: phase, step, position in the program, and the op. */
void zp_log_op(const zp_log *log, zp_log_topic topic, int32_t phase, int64_t step, int64_t position,
               const zp_op *op);

#endif
