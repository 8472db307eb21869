/* The engine of a rank, with options that the case and its random numbers choose. */
#include "rank_state.h"

enum { DRAW_OPTION = 10 };

/* What partial_gather requires of entries on a device. */
static int aligned(const zp_rank_job *r)
{
  const int32_t precision = r->c->cfg.precision;
  const int64_t align = zp_entry_align(r->hyper.entry_align, precision);
  return !r->o->device.asynchronous || align * zp_dtype_bytes(precision) % ZP_VIEW_BYTES == 0;
}

/* The most bytes of a message, as zp_engine_options.message_bytes counts them. */
static int64_t message_bytes(const zp_rank_job *r)
{
  const zp_config *cfg = &r->c->cfg;
  int64_t most = 0;
  for (int32_t s = 0; s < cfg->pp - 1; s++)
    for (int64_t i = 0; i < r->c->steps * cfg->micro_batches; i++) {
      const zp_mb at = {i / cfg->micro_batches, i % cfg->micro_batches, 0};
      int64_t bytes = 0;
      zp_message m = {0};
      r->work.shape(r->work.ctx, cfg, s, r->ref->at.dp, at, &m);
      for (int32_t k = 0; k < m.n; k++) bytes += (zp_tensor_bytes(&m.t[k]) + 255) / 256 * 256;
      if (bytes > most) most = bytes;
    }
  return most;
}

void zp_rank_choose(zp_rank_job *r)
{
  const zp_config *cfg = &r->c->cfg;
  r->callbacks = cfg->pp > 1 || zp_rank_draw(r, -1, DRAW_OPTION, 0, 2);
  r->partial = cfg->stage > 0 && zp_rank_draw(r, -1, DRAW_OPTION, 1, 2) && aligned(r);
  r->offload = r->o->device.offloads && zp_rank_draw(r, -1, DRAW_OPTION, 3, 4) == 0;
  r->in_order = zp_rank_draw(r, r->o->rank, DRAW_OPTION, 4, 4) == 0;
  r->gradual = !r->callbacks && zp_rank_draw(r, -1, DRAW_OPTION, 2, 2);
  r->wrong_rank = zp_rank_draw(r, -1, ZP_DRAW_MISUSE, 1, zp_world(cfg));
  if (zp_rank_ends_wrongly(r->c) && r->wrong_rank == r->o->rank && r->n_order > 0)
    r->misuse = 1 + zp_rank_draw(r, -1, ZP_DRAW_MISUSE, 2, ZP_MISUSES - 1);
}

int zp_rank_create(zp_rank_job *r, const zp_hyper *hyper)
{
  const zp_config *cfg = &r->c->cfg;
  const zp_coord at = r->ref->at;
  zp_engine_options o;
  zp_engine_defaults(&o, sizeof o, NULL);
  o.rank = r->o->rank;
  o.world = zp_world(cfg);
  o.config = cfg;
  o.hyper = *hyper;
  o.first = (const void *const *)r->first;
  o.transport = r->o->transport;
  if (!o.transport && o.world > 1) { /* MPI's, whatever it is */
    o.exchange = zp_job_exchange;
  }
  o.ctx = r;
  if (r->callbacks) o.forward = zp_rank_forward, o.backward = zp_rank_backward;
  if (r->callbacks && cfg->dynamic_shapes) o.shape = zp_rank_shape;
  if (o.shape) o.message_bytes = message_bytes(r);
  if (at.pp > 0 && !o.shape)
    r->work.shape(r->work.ctx, cfg, at.pp - 1, at.dp, (zp_mb){0, 0, 0}, &o.in);
  if (at.pp < cfg->pp - 1 && !o.shape)
    r->work.shape(r->work.ctx, cfg, at.pp, at.dp, (zp_mb){0, 0, 0}, &o.out);
  o.ordered = cfg->reduce == ZP_ORDERED;
  o.partial_gather = r->partial;
  o.gradual = r->gradual;
  o.offload = r->offload;
  o.early_bytes = r->in_order ? 0 : -1;
  o.deadline_s = r->o->deadline_s;
  return r->o->device.create(r->o->device.ctx, &r->e, &o, &r->err);
}
