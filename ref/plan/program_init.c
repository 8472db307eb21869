/* INIT: communicators and first broadcasts. spec: LEDG-4, LEDG-5, TIE-2 */
#include "program_internal.h"

/* INIT's clock. PIPE-5 */
enum {
  CLOCK_CREATE = 0,
  CLOCK_TIED_VALUES = 1,
  CLOCK_TP_VALUES = 2,
  CLOCK_DP_VALUES = 3,
  CLOCK_INSTALL = 4
};

int32_t zp_param_holds(const zp_config *cfg, int32_t j)
{
  const int32_t key = cfg->params[j].tied;
  if (key < 0) return 1;
  /* uses are numbered in backward order: the last entry of the stage with this key holds it */
  for (int32_t i = j + 1; i < cfg->n_params && cfg->params[i].stage == cfg->params[j].stage; i++)
    if (cfg->params[i].tied == key) return 0;
  return 1;
}

/* The entry of this stage that holds tied key `key`, or -1. TIE-2 */
static int32_t holder_of(const zp_config *cfg, const zp_layout *lay, int32_t key)
{
  for (int32_t i = lay->n_params - 1; i >= 0; i--)
    if (cfg->params[lay->first_param + i].tied == key) return lay->first_param + i;
  return -1;
}

/* Every rank of the world takes part in every split. LEDG-4 */
static int64_t put_creations(const zp_config *cfg, zp_op *ops, int64_t n)
{
  for (int32_t g = ZP_GROUP_DP; g < ZP_GROUP_TIED + cfg->tied_keys; g++) {
    zp_op op = zp_op_blank(ZP_OP_CREATE, CLOCK_CREATE, g);
    op.what = ZP_WHAT_COMMUNICATOR;
    op.group = ZP_GROUP_WORLD;
    op.root = g < ZP_GROUP_TIED ? g : ZP_GROUP_TIED;
    op.key = g < ZP_GROUP_TIED ? -1 : g - ZP_GROUP_TIED;
    n = zp_emit(ops, n, op);
  }
  return n;
}

/* First values of entry j from member 0 of `group`. LEDG-5 */
static zp_op broadcast(const zp_config *cfg, int32_t group, int32_t key, int32_t j, int64_t clock_t,
                       int64_t clock_i)
{
  zp_op op = zp_op_blank(ZP_OP_BROADCAST, clock_t, clock_i);
  op.what = ZP_WHAT_PARAMETER;
  op.group = group;
  op.key = key;
  op.param = j;
  op.root = 0;
  op.dtype = cfg->precision;
  op.count = cfg->params[j].numel;
  return op;
}

/* First values over the stages of each tied key that this stage holds. LEDG-5 */
static int64_t put_tied_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  for (int32_t key = 0; key < cfg->tied_keys; key++) {
    const int32_t j = holder_of(cfg, lay, key);
    if (j < 0) continue;
    n = zp_emit(ops, n, broadcast(cfg, ZP_GROUP_TIED, key, j, CLOCK_TIED_VALUES, key));
  }
  return n;
}

/* First values of entries that tp ranks have in common. LEDG-5 */
static int64_t put_tp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    if (cfg->params[j].sharded || !zp_param_holds(cfg, j)) continue;
    n = zp_emit(ops, n, broadcast(cfg, ZP_GROUP_TP, -1, j, CLOCK_TP_VALUES, i));
  }
  return n;
}

/* First values over the reduction group. LEDG-5 */
static int64_t put_dp_values(const zp_config *cfg, const zp_layout *lay, zp_op *ops, int64_t n)
{
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    const int32_t group = cfg->params[j].expert ? ZP_GROUP_EDP : ZP_GROUP_DP;
    if (!zp_param_holds(cfg, j)) continue;
    n = zp_emit(ops, n, broadcast(cfg, group, -1, j, CLOCK_DP_VALUES, i));
  }
  return n;
}

int64_t zp_put_init(const zp_config *cfg, const zp_layout *lay, zp_op *ops)
{
  int64_t n = put_creations(cfg, ops, 0);
  zp_op install = zp_op_blank(ZP_OP_INSTALL, CLOCK_INSTALL, 0);
  install.what = ZP_WHAT_MASTER;
  n = put_tied_values(cfg, lay, ops, n);
  n = put_tp_values(cfg, lay, ops, n);
  n = put_dp_values(cfg, lay, ops, n);
  return zp_emit(ops, n, install);
}

int64_t zp_need_init(const zp_config *cfg, const zp_layout *lay)
{
  int64_t n = ZP_GROUP_TIED - ZP_GROUP_DP + cfg->tied_keys + 1;
  for (int32_t key = 0; key < cfg->tied_keys; key++)
    if (holder_of(cfg, lay, key) >= 0) n++;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int32_t j = lay->first_param + i;
    if (!zp_param_holds(cfg, j)) continue;
    n += cfg->params[j].sharded ? 1 : 2;
  }
  return n;
}
