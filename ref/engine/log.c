#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../comm/comm.h"

static const struct {
  const char *name;
  uint32_t topics;
} topics[] = {{"ops", ZP_LOG_OPS},
              {"streams", ZP_LOG_STREAMS},
              {"comm", ZP_LOG_COMM},
              {"all", ZP_LOG_OPS | ZP_LOG_STREAMS | ZP_LOG_COMM}};
enum { TOPICS = sizeof topics / sizeof *topics };

/* 0: there is no such topic. */
static uint32_t topic_named(const char *name, size_t n)
{
  for (int i = 0; i < TOPICS; i++)
    if (strlen(topics[i].name) == n && memcmp(topics[i].name, name, n) == 0)
      return topics[i].topics;
  return 0;
}

zp_log zp_log_open(const char *engine, int32_t rank)
{
  zp_log log = {.engine = engine, .rank = rank};
  const char *at = getenv("ZP_LOG");
  while (at && *at) {
    const size_t n = strcspn(at, ",");
    const uint32_t topic = topic_named(at, n);
    log.topics |= topic;
    if (!topic && rank == 0)
      fprintf(stderr, "zeroproof: ZP_LOG has no topic '%.*s': use ops, streams, comm or all\n",
              (int)n, at);
    at += n + (at[n] == ',');
  }
  return log;
}

static const char *name_of(zp_log_topic topic)
{
  for (int i = 0; i < TOPICS; i++)
    if (topics[i].topics == (uint32_t)topic) return topics[i].name;
  return "?";
}

/* In one call, so that lines of several ranks do not mix. */
void zp_log_line(const zp_log *log, zp_log_topic topic, const char *format, ...)
{
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(stderr, "zeroproof: %s rank %d %s: %s\n", log->engine, (int)log->rank, name_of(topic),
          text);
}

void zp_log_op(const zp_log *log, zp_log_topic topic, int32_t phase, int64_t step, int64_t position,
               const zp_op *op)
{
  char text[256];
  zp_op_describe(op, text, sizeof text);
  zp_log_line(log, topic, "%s %lld, position %lld: %s", zp_phase_name(phase), (long long)step,
              (long long)position, text);
}
