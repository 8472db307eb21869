/* What only the reference can tell: its operations, and what steps change beside masters. */
#include <string.h>

#include "../engine/cursor.h"
#include "../engine_mpi/engine_state.h"
#include "binding_internal.h"

static void before_op(void *ctx, zp_rank *r, zp_op *op)
{
  const zp_binding *b = ctx;
  if (!zp_op_communicates(op) || zp_block_group_size(&r->block, op->group, op->key) == 1) return;
  b->entering(zp_op_name(op->kind), op->redop == ZP_RED_NONE ? "" : zp_redop_name(op->redop),
              zp_dtype_name(op->dtype), op->count, op->root, zp_what_name(op->what));
}

void zp_binding_watch(zp_binding *b,
                      void (*entering)(const char *op, const char *redop, const char *dtype,
                                       int64_t count, int32_t root, const char *what))
{
  b->entering = entering;
  b->hook = (zp_hook){b, before_op, NULL};
  b->e->rank->hook = &b->hook;
}

void zp_binding_progress(const zp_binding *b, int64_t whole[ZP_BINDING_WHOLE],
                         double power[ZP_BINDING_POWER])
{
  const zp_rank *r = b->e->rank;
  const int64_t numbers[5] = {r->step, r->scaler.log2_scale, r->scaler.hysteresis_left,
                              r->scaler.iter, r->scaler.last_overflow};
  memcpy(whole, numbers, sizeof numbers);
  for (int32_t g = 0; g < ZP_HYPER_GROUPS; g++) {
    const int used = g < b->cfg.optgroups;
    whole[5 + g] = used ? r->optim[g].t : 0;
    power[2 * g] = used ? r->optim[g].beta1_pow : 1;
    power[2 * g + 1] = used ? r->optim[g].beta2_pow : 1;
  }
}

int zp_binding_resume(zp_binding *b, const int64_t whole[ZP_BINDING_WHOLE],
                      const double power[ZP_BINDING_POWER])
{
  zp_rank *r = b->e->rank;
  zp_hyper h = b->o.hyper;
  zp_error why = {0};
  if (whole[1] != (int32_t)whole[1] || whole[2] != (int32_t)whole[2]) return ZP_E_REFUSED;
  h.scaler = r->scaler;
  h.scaler.log2_scale = (int32_t)whole[1];
  h.scaler.hysteresis_left = (int32_t)whole[2];
  h.scaler.iter = whole[3];
  h.scaler.last_overflow = whole[4];
  if (whole[0] < 0 || whole[0] > INT64_MAX / 2 || zp_hyper_check(&h, b->o.rank, &why))
    return ZP_E_REFUSED;
  for (int32_t g = 0; g < ZP_HYPER_GROUPS; g++)
    if (whole[5 + g] < 0 || whole[5 + g] > whole[0] || !(power[2 * g] >= 0 && power[2 * g] <= 1) ||
        !(power[2 * g + 1] >= 0 && power[2 * g + 1] <= 1))
      return ZP_E_REFUSED;
  r->step = whole[0];
  r->scaler = h.scaler;
  for (int32_t g = 0; g < b->cfg.optgroups; g++)
    r->optim[g] = (zp_optim_state){power[2 * g], power[2 * g + 1], whole[5 + g]};
  return ZP_OK;
}

int zp_binding_leave(zp_binding *b)
{
  return zp_engine_leave(b->e);
}
