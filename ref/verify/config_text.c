#include "config_text.h"

#include <stdio.h>
#include <string.h>

#include "../engine/refusal.h"
#include "../plan/dtype.h"

const char *zp_precision_name(int32_t dtype)
{
  return dtype == ZP_F32 ? "fp32" : dtype == ZP_BF16 ? "bf16" : dtype == ZP_F16 ? "fp16" : "?";
}

const char *zp_reduce_name(int32_t reduce)
{
  return reduce == ZP_ORDERED ? "ordered" : reduce == ZP_EXACT ? "exact" : "?";
}

const char *zp_reduce_text(int32_t reduce)
{
  return reduce == ZP_EXACT ? "integer sums, rounded once: the same bits in any order"
                            : "fp32 sums in a fixed order";
}

/* What to do about each field. */
static const char *const advice[ZP_FIELDS] = {
    [ZP_FIELD_NONE] = "",
    [ZP_FIELD_PP] = "Change --pp.",
    [ZP_FIELD_DP] = "Change --dp.",
    [ZP_FIELD_TP] = "Change --tp.",
    [ZP_FIELD_EP] = "ep must divide dp: change --ep or --dp.",
    [ZP_FIELD_RANKS] = "Use fewer ranks.",
    [ZP_FIELD_STAGE] = "Change --stage.",
    [ZP_FIELD_REDUCE] = "Use --reduce ordered or exact.",
    [ZP_FIELD_PRECISION] = "Use --precision fp32, bf16 or fp16.",
    [ZP_FIELD_DYNAMIC_SHAPES] = "It is 0 or 1.",
    [ZP_FIELD_OPTGROUPS] = "Use fewer optimizer groups.",
    [ZP_FIELD_TIED_KEYS] = "Number tied keys from 0.",
    [ZP_FIELD_N_PARAMS] = "Give at least one entry.",
    [ZP_FIELD_MICRO_BATCHES] = "Change --micro-batches.",
    [ZP_FIELD_BUCKET] = "Change --bucket.",
    [ZP_FIELD_ALIGN] = "Change --align.",
    [ZP_FIELD_NUMEL] = "Change the entry's numel.",
    [ZP_FIELD_PARAM_STAGE] = "Entries are listed by stage and stages go from 0 to pp - 1.",
    [ZP_FIELD_OPTGROUP] = "Optimizer groups are numbered from 0.",
    [ZP_FIELD_TIED] = "Tied keys are numbered from 0; -1 (null) is no tie.",
    [ZP_FIELD_SHARDED] = "It is 0 or 1.",
    [ZP_FIELD_EXPERT] = "It is 0 or 1, and a tied entry cannot be an expert.",
    [ZP_FIELD_FROZEN] = "It is 0 or 1.",
    [ZP_FIELD_FP32] = "It is 0 or 1.",
    [ZP_FIELD_TIED_NUMEL] = "Entries of one tied key must agree in numel.",
    [ZP_FIELD_TIED_SHARDED] = "Entries of one tied key must agree in sharded.",
    [ZP_FIELD_TIED_OPTGROUP] = "Entries of one tied key must agree in optgroup.",
    [ZP_FIELD_TIED_FROZEN] = "Entries of one tied key must agree in frozen.",
    [ZP_FIELD_TIED_FP32] = "Entries of one tied key must agree in fp32.",
    [ZP_FIELD_CONTRIBUTIONS] = "Use fewer micro-batches.",
    [ZP_FIELD_TIED_ENTRIES] = "Tie fewer entries.",
    [ZP_FIELD_ELEMENTS] = "Use a smaller model.",
};

void zp_refusal_text(const zp_refusal *why, const char *name, char *text, int64_t cap)
{
  const int known = why->field > ZP_FIELD_NONE && why->field < ZP_FIELDS;
  size_t n;
  zp_refusal_say(why, name, text, cap);
  n = strlen(text);
  snprintf(text + n, (size_t)cap - n, ". %s", known ? advice[why->field] : "");
}
