/* The reference's memory is the process's, its only stream is NULL, and work on it is done at
 * once. */
#include <stdlib.h>
#include <string.h>

#include "../num/ordered.h"
#include "rank_device.h"

static int create(void *ctx, zp_engine **out, const zp_engine_options *options, zp_error *err)
{
  (void)ctx;
  return zp_engine_create(out, options, err);
}

static void *alloc(void *ctx, int32_t on_host, size_t bytes)
{
  (void)ctx, (void)on_host;
  return malloc(bytes);
}

static void release(void *ctx, int32_t on_host, void *memory)
{
  (void)ctx, (void)on_host;
  free(memory);
}

static int open_stream(void *ctx, zp_rank_stream_kind kind, void **stream)
{
  (void)ctx, (void)kind;
  *stream = NULL;
  return 0;
}

static void close_stream(void *ctx, void *stream)
{
  (void)ctx, (void)stream;
}

static int copy(void *ctx, void *to, const void *from, size_t bytes, void *stream)
{
  (void)ctx, (void)stream;
  memcpy(to, from, bytes);
  return 0;
}

static int fill(void *ctx, void *to, size_t bytes, void *stream)
{
  (void)ctx, (void)stream;
  memset(to, 0xff, bytes);
  return 0;
}

static int add(void *ctx, float *to, const float *from, int64_t n, void *stream)
{
  (void)ctx, (void)stream;
  zp_ordered_add_f32(to, from, n);
  return 0;
}

static int join(void *ctx, void *stream, void *other)
{
  (void)ctx, (void)stream, (void)other;
  return 0;
}

static int wait_for(void *ctx, void *stream)
{
  (void)ctx, (void)stream;
  return 0;
}

const zp_rank_device zp_host_device = {.create = create,
                                       .streams = 1,
                                       .alloc = alloc,
                                       .release = release,
                                       .open_stream = open_stream,
                                       .close_stream = close_stream,
                                       .copy = copy,
                                       .fill = fill,
                                       .add = add,
                                       .join = join,
                                       .wait = wait_for};
