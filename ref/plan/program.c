/* spec: STEP-2, LEDG-1 … LEDG-8, PIPE-5 */
#include "program.h"

#include "../../spec/acsl/apart_lemmas.h"
#include "../../spec/acsl/ledger_lemmas.h"
#include "program_internal.h"

int64_t zp_program_need(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at)
{
  if (phase == ZP_PHASE_INIT) return zp_need_init(cfg, lay);
  if (phase == ZP_PHASE_STEP) return zp_need_step(cfg, lay);
  if (phase == ZP_PHASE_SAVE) return zp_need_save(cfg, lay, at);
  return zp_need_load();
}

int64_t zp_program_write(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at,
                         zp_op *ops, int64_t cap)
{
  if (cap < zp_program_need(cfg, lay, phase, at)) return -1;
  /*@ assert config: \forall integer p, m; 0 <= p && 0 <= m && p + m <= cap ==>
        ClearOfConfig(ops + p, m, cfg); */
  //@ assert far: FarFromEntries(ops, cap, cfg->params, cfg->n_params);
  //@ assert far_flats: FarFromFlats(ops, cap, lay->flat, lay->n_flats);
  /*@ assert entries: \forall integer p, m; 0 <= p && 0 <= m && p + m <= cap ==>
        ClearOfEntries(ops + p, m, cfg->params, cfg->n_params); */
  /*@ assert layout: \forall integer p, m; 0 <= p && 0 <= m && p + m <= cap ==>
        ClearOfLayout(ops + p, m, lay); */
  /*@ assert flats: \forall integer p, m; 0 <= p && 0 <= m && p + m <= cap ==>
        ClearOfFlats(ops + p, m, lay->flat, lay->n_flats); */
  /*@ assert apart: \forall integer len; len <= cap ==> Apart(ops, 0, len, cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats); */
  if (phase == ZP_PHASE_INIT) return zp_put_init(cfg, lay, ops);
  if (phase == ZP_PHASE_STEP) return zp_put_step(cfg, lay, ops);
  if (phase == ZP_PHASE_SAVE) return zp_put_save(cfg, lay, at, ops);
  return zp_put_load(ops);
}
