/* spec: RED-2, RED-3, RED-6 */
#include "contributions.h"

#include "../engine/partial.h"

/* fp32 and bf16 have exponents to spare. */
int zp_are_coded_exactly(const zp_synth_options *opt, const zp_config *cfg, int64_t step,
                         int32_t log2_scale)
{
  const int32_t log2 = opt->log2_unit + log2_scale;
  if (opt->mode != ZP_SYNTH_CODED || zp_synth_digits(cfg) == 0) return 0;
  if (((opt->overflow | opt->oversum) >> (step % 32) & 1u) != 0) return 0;
  return cfg->precision == ZP_F16 ? log2 >= -14 && log2 <= 4 : log2 >= -100 && log2 <= 100;
}

void zp_verdict_contribution(zp_verdict *v, const zp_config *cfg, const zp_synth_finding *f,
                             int foreign)
{
  switch (f->kind) {
  case ZP_SYNTH_MISSING:
  case ZP_SYNTH_DOUBLED: zp_verdict_clause(v, "RED-3"); break;
  case ZP_SYNTH_UNASKED: zp_verdict_clause(v, "RED-6"); break;
  case ZP_SYNTH_RATIO: zp_verdict_clause(v, "RED-2"); break;
  case ZP_SYNTH_MOVED: zp_verdict_clause(v, "PART-6"); break;
  case ZP_SYNTH_STALE: zp_verdict_clause(v, "STEP-4"); break;
  default: zp_verdict_clause(v, cfg->reduce == ZP_EXACT ? "RED-5" : "RED-4"); break;
  }
  if (f->kind > ZP_SYNTH_UNASKED) return;
  if (zp_is_partial(cfg, f->param)) zp_verdict_clause(v, "RED-8");
  if (foreign) zp_verdict_clause(v, "RED-9");
  /* another use of the key, on this stage or on another */
  if (f->who.entry != f->param)
    zp_verdict_clause(v, cfg->params[f->who.entry].stage == cfg->params[f->param].stage ? "TIE-2"
                                                                                        : "TIE-1");
}
