/* What a rank's streams read and write. A gradient is written late: its memory has 0xff until the
 * last of several operations on its stream, and again after the announcement. spec: STRM-1, STRM-4
 */
#include <stdlib.h>
#include <string.h>

#include "rank_state.h"

enum { DRAW_STREAMS = 50, DRAW_KIND = 60, DRAW_READ = 5000, DRAW_LOSS = 6000, DRAW_LATE = 7000 };
enum { DRAW_AGAIN = 10000 };
enum { LATE = 12, LATER = 4 }; /* LATER: times that, where nothing else waits for the stream */

int32_t zp_rank_grad_dtype(const zp_rank_job *r, int32_t j)
{
  return zp_gradient_dtype(&r->c->cfg, &r->hyper, j);
}

size_t zp_rank_grad_bytes(const zp_rank_job *r, int32_t j)
{
  return (size_t)(r->c->params[j].numel * zp_dtype_bytes(zp_rank_grad_dtype(r, j)));
}

size_t zp_rank_param_bytes(const zp_rank_job *r, int32_t j)
{
  return (size_t)(r->c->params[j].numel * zp_dtype_bytes(zp_entry_dtype(&r->c->cfg, j)));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *alloc(zp_rank_job *r, int32_t on_host, size_t bytes)
{
  zp_rank_memory *m = &r->memory;
  const zp_rank_device *d = &r->o->device;
  void *more = realloc(m->owned, (size_t)(m->n_owned + 1) * sizeof *m->owned);
  if (!more) return NULL;
  m->owned = more;
  void *at = d->alloc(d->ctx, on_host, bytes > 0 ? bytes : 1);
  if (!at) return NULL;
  m->owned[m->n_owned].at = at;
  m->owned[m->n_owned++].on_host = on_host;
  return at;
}

static int open_streams(zp_rank_job *r)
{
  zp_rank_memory *m = &r->memory;
  const zp_rank_device *d = &r->o->device;
  int32_t defaults = 0;
  const int32_t n = 1 + zp_rank_draw(r, r->o->rank, DRAW_STREAMS, 0, d->streams);
  for (; m->streams < n; m->streams++) {
    int32_t kind = zp_rank_draw(r, r->o->rank, DRAW_KIND, m->streams, ZP_RANK_STREAM_KINDS);
    if (kind == ZP_RANK_STREAM_DEFAULT && defaults++ > 0) kind = ZP_RANK_STREAM_INDEPENDENT;
    if (d->open_stream(d->ctx, (zp_rank_stream_kind)kind, &m->stream[m->streams])) return -1;
  }
  return 0;
}

static int open_entry(zp_rank_job *r, int32_t j)
{
  zp_rank_memory *m = &r->memory;
  const size_t steps = (size_t)r->c->steps, mbs = (size_t)r->c->cfg.micro_batches;
  m->seen[j] = alloc(r, 1, ZP_RANK_READS * steps * zp_rank_param_bytes(r, j));
  m->before[j] = alloc(r, 1, steps * zp_rank_param_bytes(r, j));
  if (!m->seen[j] || !m->before[j]) return -1;
  if (r->c->params[j].frozen) return 0;
  m->made[j] = alloc(r, 1, steps * mbs * zp_rank_grad_bytes(r, j));
  for (int32_t k = 0; k <= m->streams; k++) {
    m->grad[j][k] = alloc(r, 0, zp_rank_grad_bytes(r, j));
    if (!m->grad[j][k]) return -1;
  }
  return m->made[j] ? 0 : -1;
}

int zp_rank_memory_open(zp_rank_job *r)
{
  zp_rank_memory *m = &r->memory;
  const zp_config *cfg = &r->c->cfg;
  const size_t all = (size_t)(r->c->steps * cfg->micro_batches);
  if (open_streams(r)) return -1;
  m->losses = alloc(r, 1, all * sizeof *m->losses);
  m->in = calloc((size_t)cfg->micro_batches, sizeof *m->in);
  if (!m->losses || !m->in) return -1;
  for (int32_t k = 0; k <= m->streams; k++) {
    m->loss[k] = alloc(r, 0, sizeof(float));
    if (!m->loss[k]) return -1;
  }
  for (int32_t j = 0; j < cfg->n_params; j++)
    if (cfg->params[j].stage == r->ref->at.pp && open_entry(r, j)) return -1;
  return 0;
}

void zp_rank_memory_close(zp_rank_job *r)
{
  zp_rank_memory *m = &r->memory;
  const zp_rank_device *d = &r->o->device;
  for (int32_t k = 0; k < m->streams; k++) d->close_stream(d->ctx, m->stream[k]);
  for (int64_t i = 0; i < m->n_owned; i++) d->release(d->ctx, m->owned[i].on_host, m->owned[i].at);
  free(m->owned);
}

void *zp_rank_made(const zp_rank_job *r, int32_t j, int64_t mb)
{
  const int64_t i = r->step * r->c->cfg.micro_batches + mb;
  return r->memory.made[j] + (size_t)i * zp_rank_grad_bytes(r, j);
}

/* ---- Streams --------------------------------------------------------------------------------- */

int zp_rank_fork(zp_rank_job *r, void *main)
{
  const zp_rank_memory *m = &r->memory;
  const zp_rank_device *d = &r->o->device;
  int failed = 0;
  for (int32_t k = 0; k < m->streams && !failed; k++)
    if (m->stream[k] != main) failed = d->join(d->ctx, m->stream[k], main);
  return failed;
}

int zp_rank_join(zp_rank_job *r, void *main)
{
  const zp_rank_memory *m = &r->memory;
  const zp_rank_device *d = &r->o->device;
  int failed = 0;
  for (int32_t k = 0; k < m->streams && !failed; k++)
    if (m->stream[k] != main) failed = d->join(d->ctx, main, m->stream[k]);
  return failed;
}

int32_t zp_rank_stream(const zp_rank_job *r, int64_t what, int64_t which)
{
  return zp_rank_draw(r, r->o->rank, what, which, r->memory.streams + r->callbacks);
}

static int32_t late(const zp_rank_job *r, int64_t which)
{
  return r->o->device.asynchronous ? zp_rank_draw(r, r->o->rank, DRAW_LATE, which, LATE) : 0;
}

int zp_rank_read(const zp_rank_job *r, void *to, const void *from, size_t bytes)
{
  const zp_rank_device *d = &r->o->device;
  void *stream = r->memory.stream[0];
  return bytes > 0 && (d->copy(d->ctx, to, from, bytes, stream) || d->wait(d->ctx, stream));
}

/* ---- Losses and parameters ------------------------------------------------------------------- */

int zp_rank_loss(zp_rank_job *r, int64_t mb)
{
  const zp_rank_device *d = &r->o->device;
  const int64_t i = r->step * r->c->cfg.micro_batches + mb;
  const int32_t k = zp_rank_stream(r, DRAW_LOSS, i);
  float *at = r->memory.loss[k];
  void *stream = r->memory.stream[k];
  int failed = 0;
  for (int32_t n = 1 + LATER * late(r, 2 * i); n > 0 && !failed; n--)
    failed = d->fill(d->ctx, at, sizeof *at, stream);
  if (!failed) failed = d->copy(d->ctx, at, &r->memory.losses[i], sizeof *at, stream);
  if (!failed) failed = zp_engine_loss(r->e, mb, at, stream);
  return failed ? failed : d->fill(d->ctx, at, sizeof *at, stream);
}

/* Several times: other work may come between. */
static int read_param(zp_rank_job *r, int32_t j, int32_t at_end, void *stream)
{
  const zp_rank_device *d = &r->o->device;
  const size_t bytes = zp_rank_param_bytes(r, j);
  const int64_t which = ZP_RANK_READS * r->step + at_end;
  char *to = r->memory.seen[j] + (size_t)which * bytes;
  int failed = 0;
  if (bytes == 0) return 0;
  int32_t n = late(r, 2 * (which * ZP_CASE_PARAMS + j) + 1);
  for (n = 1 + n * (at_end ? LATER : 1); n > 0 && !failed; n--)
    failed = d->copy(d->ctx, to, zp_engine_param(r->e, j), bytes, stream);
  return failed;
}

/* With partial_gather each stream waits for what it reads: for all entries at once, or for each
 * one. */
int zp_rank_read_params(zp_rank_job *r, void *stream)
{
  const zp_config *cfg = &r->c->cfg;
  const int32_t at_once = zp_rank_draw(r, r->o->rank, DRAW_READ, r->step, 2);
  int status = 0;
  if (r->partial && at_once) status = zp_engine_wait_params(r->e, NULL, -1, stream);
  for (int32_t j = cfg->n_params - 1; j >= 0 && !status; j--) {
    void *own = r->memory.stream[zp_rank_stream(r, DRAW_READ + 1 + j, r->step)];
    void *reader = r->partial && at_once ? stream : own;
    if (cfg->params[j].stage != r->ref->at.pp) continue;
    if (r->partial && !at_once) status = zp_engine_wait_param(r->e, j, reader);
    if (!status) status = read_param(r, j, 0, reader);
  }
  return status;
}

int zp_rank_read_params_again(zp_rank_job *r)
{
  const zp_config *cfg = &r->c->cfg;
  int status = 0;
  for (int32_t j = 0; j < cfg->n_params && !status; j++) {
    void *reader = r->memory.stream[zp_rank_stream(r, DRAW_AGAIN + j, r->step)];
    if (cfg->params[j].stage != r->ref->at.pp) continue;
    if (r->partial) status = zp_engine_wait_param(r->e, j, reader);
    if (!status) status = read_param(r, j, 1, reader);
  }
  return status;
}
