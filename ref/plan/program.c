/* spec: STEP-2, LEDG-1 … LEDG-8, PIPE-5 */
#include "program.h"

#include "../../spec/acsl/apart_lemmas.h"
#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/planned_lemmas.h"
#include "program_internal.h"

int64_t zp_program_need(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at)
{
  //@ assert planned: lay->stage == at.pp && Planned(cfg, lay);
  //@ assert stage: StageLayout(cfg, lay);
  //@ assert seen: StageSeen(cfg, lay) && FlatsFine(lay->flat, lay->n_flats) && KeysHeld(cfg, lay);
  if (phase == ZP_PHASE_INIT) return zp_need_init(cfg, lay);
  if (phase == ZP_PHASE_STEP) return zp_need_step(cfg, lay);
  if (phase == ZP_PHASE_SAVE) return zp_need_save(cfg, lay, at);
  return zp_need_load();
}

int64_t zp_program_write(const zp_config *cfg, const zp_layout *lay, int32_t phase, zp_coord at,
                         zp_op *ops, int64_t cap)
{
  if (cap < zp_program_need(cfg, lay, phase, at)) return -1;
  //@ assert planned: lay->stage == at.pp && Planned(cfg, lay);
  //@ assert stage: StageLayout(cfg, lay);
  //@ assert seen: StageSeen(cfg, lay) && FlatsFine(lay->flat, lay->n_flats);
  //@ assert far_config: FarFromConfig(ops, cap, cfg);
  //@ assert far_layout: FarFromLayout(ops, cap, lay);
  //@ assert far_entries: FarFromEntries(ops, cap, cfg->params, cfg->n_params);
  //@ assert far_flats: FarFromFlats(ops, cap, lay->flat, lay->n_flats);
  //@ assert far_spots: FarFromSpots(ops, cap, lay->spot, lay->n_params);
  /*@ assert apart: \forall integer len; len <= cap ==> Apart(ops, 0, len, cfg, cfg->params,
        cfg->n_params, lay, lay->flat, lay->n_flats); */
  /*@ assert spots: \forall integer len; len <= cap ==> SpotsApart(ops, 0, len, lay->spot,
        lay->n_params); */
  if (phase == ZP_PHASE_INIT) return zp_put_init(cfg, lay, ops);
  if (phase == ZP_PHASE_STEP) return zp_put_step(cfg, lay, ops);
  if (phase == ZP_PHASE_SAVE) return zp_put_save(cfg, lay, at, ops);
  return zp_put_load(ops);
}
