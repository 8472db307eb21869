/* Memory and streams of a rank: the process's own (host_device.c), or a device's. */
#ifndef ZP_ENGINE_CASES_RANK_DEVICE_H
#define ZP_ENGINE_CASES_RANK_DEVICE_H

#include <stddef.h>

#include "../engine/engine.h"

enum { ZP_RANK_STREAMS = 3 }; /* at most, of a rank's own */

typedef enum zp_rank_stream_kind {
  ZP_RANK_STREAM_INDEPENDENT, /* work on the default stream does not wait for it */
  ZP_RANK_STREAM_BLOCKING,    /* it does */
  ZP_RANK_STREAM_DEFAULT,     /* the default stream itself */
  ZP_RANK_STREAM_KINDS
} zp_rank_stream_kind;

/* Functions that return an int: 0, or non-zero on failure. Work on a stream is queued; it may run
 * after the function has returned. */
typedef struct zp_rank_device {
  void *ctx;
  /* zp_engine_create, with what this device needs beside the options. */
  int (*create)(void *ctx, zp_engine **out, const zp_engine_options *options, zp_error *err);
  int32_t streams;          /* of one rank, at most ZP_RANK_STREAMS */
  int32_t asynchronous;     /* 1: zp_engine_step may return before its work is done */
  int32_t offloads;         /* 1: options.offload has an effect */
  int32_t can_create_again; /* 1: an engine can be made after another one was destroyed */
  /* Memory of the host, which copies do not stage, or of the engine; NULL: no memory. */
  void *(*alloc)(void *ctx, int32_t on_host, size_t bytes);
  void (*release)(void *ctx, int32_t on_host, void *memory);
  int (*open_stream)(void *ctx, zp_rank_stream_kind kind, void **stream);
  void (*close_stream)(void *ctx, void *stream);
  int (*copy)(void *ctx, void *to, const void *from, size_t bytes, void *stream);
  int (*fill)(void *ctx, void *to, size_t bytes, void *stream);                 /* with 0xff */
  int (*add)(void *ctx, float *to, const float *from, int64_t n, void *stream); /* to += from */
  /* `stream` waits for all work that is queued on `other` now. */
  int (*join)(void *ctx, void *stream, void *other);
  int (*wait)(void *ctx, void *stream); /* the host waits */
} zp_rank_device;

extern const zp_rank_device zp_host_device;

#endif
