/* spec: LIM-0, PIPE-6 */
#include "options.h"

#include <string.h>

#include "../../ref/comm/block.h"
#include "../../ref/comm/comm.h"
#include "../../ref/engine/bucket_slots.h"
#include "../../ref/engine/early.h"

static int refuse(zp_error *err, const char *field, const char *expected, long long value)
{
  return zp_fail(err, ZP_E_REFUSED, -1, "%s: expected %s, got %lld", field, expected, value);
}

static int check_message(const zp_message *m, const zp_config *cfg, const char *field,
                         zp_error *err)
{
  if (m->n < 0 || m->n > ZP_MSG_TENSORS) return refuse(err, field, "0 to 4 tensors", m->n);
  for (int32_t i = 0; i < m->n; i++) {
    const int32_t t = m->t[i].dtype;
    if (t != cfg->precision && t != ZP_I32 && t != ZP_I64)
      return refuse(err, field, "tensors whose dtype is the precision or an integer's (PIPE-6)", t);
    if (zp_tensor_checked(&m->t[i], ZP_MAX_ELEMENTS) < 0)
      return refuse(err, field, "tensors of 1 to 4 dimensions and 1 to 2^40 elements; tensor", i);
  }
  return 0;
}

static int check_callbacks(const zp_cuda_options *o, zp_error *err)
{
  const zp_cuda_model *m = &o->model;
  if (!o->exchange || !m->first)
    return refuse(err, "callbacks", "the functions exchange and first", 0);
  if (!m->forward != !m->backward || (o->cfg->pp > 1 && !m->forward))
    return refuse(err, "callbacks", "forward and backward, or with pp = 1 neither; pp is",
                  o->cfg->pp);
  if (o->cfg->dynamic_shapes && o->cfg->pp > 1 && !m->shape)
    return refuse(err, "callbacks", "the function shape, as dynamic shapes are on", 0);
  return 0;
}

/* Gathers that write parameters directly: those of aligned entries. fp32 entries are aligned if
 * those of the precision are. */
static int check_partial(const zp_cuda_options *o, zp_error *err)
{
  const int64_t align = zp_entry_align(o->entry_align, o->cfg->precision);
  if (o->partial_gather != 0 && o->partial_gather != 1)
    return refuse(err, "partial_gather", "0 or 1", o->partial_gather);
  if (o->partial_gather && o->cfg->stage == 0)
    return refuse(err, "partial_gather", "0 at ZeRO stage 0, where nothing is gathered",
                  o->partial_gather);
  if (o->partial_gather && align * zp_dtype_bytes(o->cfg->precision) % ZP_VIEW_BYTES != 0)
    return refuse(err, "partial_gather",
                  "0, or an entry_align of a multiple of 128 bytes; it is, in elements", align);
  return 0;
}

int32_t zp_cuda_replicas(const zp_cuda_options *o)
{
  return o->replicas == 0 ? 1 : o->replicas;
}

int zp_cuda_check_options(const zp_cuda_options *o, zp_error *err)
{
  zp_refusal why;
  int status;
  if (zp_config_check(o->cfg, &why))
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "configuration: field %d (entry %d) is %lld, allowed are %lld to %lld (LIM-0)",
                   why.field, why.index, (long long)why.value, (long long)why.lo,
                   (long long)why.hi);
  if (zp_block_check(o->cfg, zp_cuda_replicas(o), err) ||
      zp_block_check_align(o->cfg, zp_entry_align(o->entry_align, o->cfg->precision), err) ||
      zp_slots_check(o->slots, err))
    return err->status;
  if (check_partial(o, err)) return err->status;
  if (o->fp32_gradients != 0 && o->fp32_gradients != 1)
    return refuse(err, "fp32_gradients", "0 or 1", o->fp32_gradients);
  if (o->early_bytes < ZP_EARLY_ALL)
    return refuse(err, "early_bytes", "-1, 0 or a number of bytes", o->early_bytes);
  if (o->cfg->dynamic_shapes && o->cfg->pp > 1 && o->message_bytes < 1)
    return refuse(err, "message_bytes", "the most bytes of a message, as dynamic shapes are on",
                  o->message_bytes);
  if (o->optims < 1 || o->optims > ZP_DECIDE_OPTIMS)
    return refuse(err, "optims", "1 to 8", o->optims);
  if (o->rank < 0 || o->rank >= zp_world(o->cfg))
    return refuse(err, "rank", "0 to pp*dp*tp - 1", o->rank);
  if (o->native != 0 && (o->native != 1 || o->cfg->reduce != ZP_ORDERED))
    return refuse(err, "native", "0, or 1 if the configuration reduces `ordered`", o->native);
  status = check_callbacks(o, err);
  if (status || o->cfg->dynamic_shapes) return status;
  status = check_message(&o->act_in, o->cfg, "act_in", err);
  return status ? status : check_message(&o->act_out, o->cfg, "act_out", err);
}

void zp_cuda_copy_optims(zp_cuda_options *o, const zp_optim *from)
{
  memset(o->optim, 0, sizeof o->optim);
  for (int32_t g = 0; g < o->optims; g++) {
    zp_optim *to = &o->optim[g];
    to->kind = from[g].kind;
    to->lr = from[g].lr;
    to->beta1 = from[g].beta1;
    to->beta2 = from[g].beta2;
    to->eps = from[g].eps;
    to->weight_decay = from[g].weight_decay;
    to->momentum = from[g].momentum;
  }
}

void zp_cuda_copy_options(zp_cuda_options *to, const zp_cuda_options *from, zp_coord at)
{
  *to = *from;
  zp_cuda_copy_optims(to, from->optim);
  if (at.pp == 0) to->act_in.n = 0;
  if (at.pp == to->cfg->pp - 1) to->act_out.n = 0;
}
