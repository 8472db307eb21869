/* spec: STEP-2, LEDG-1 … LEDG-8, PIPE-5 */
#include "program.h"

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
  if (phase == ZP_PHASE_INIT) return zp_put_init(cfg, lay, ops);
  if (phase == ZP_PHASE_STEP) return zp_put_step(cfg, lay, ops);
  if (phase == ZP_PHASE_SAVE) return zp_put_save(cfg, lay, at, ops);
  return zp_put_load(ops);
}
