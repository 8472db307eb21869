#include "refusal.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[ZP_FIELDS] = {
    [ZP_FIELD_NONE] = "nothing",
    [ZP_FIELD_PP] = "pp",
    [ZP_FIELD_DP] = "dp",
    [ZP_FIELD_TP] = "tp",
    [ZP_FIELD_EP] = "ep",
    [ZP_FIELD_RANKS] = "pp·dp·tp",
    [ZP_FIELD_STAGE] = "stage",
    [ZP_FIELD_REDUCE] = "reduce",
    [ZP_FIELD_PRECISION] = "precision",
    [ZP_FIELD_DYNAMIC_SHAPES] = "dynamic_shapes",
    [ZP_FIELD_OPTGROUPS] = "optgroups",
    [ZP_FIELD_TIED_KEYS] = "tied_keys",
    [ZP_FIELD_N_PARAMS] = "number of params",
    [ZP_FIELD_MICRO_BATCHES] = "micro_batches",
    [ZP_FIELD_BUCKET] = "bucket",
    [ZP_FIELD_ALIGN] = "align",
    [ZP_FIELD_NUMEL] = "numel",
    [ZP_FIELD_PARAM_STAGE] = "stage",
    [ZP_FIELD_OPTGROUP] = "optgroup",
    [ZP_FIELD_TIED] = "tied",
    [ZP_FIELD_SHARDED] = "sharded",
    [ZP_FIELD_EXPERT] = "expert",
    [ZP_FIELD_FROZEN] = "frozen",
    [ZP_FIELD_FP32] = "fp32",
    [ZP_FIELD_TIED_NUMEL] = "numel",
    [ZP_FIELD_TIED_SHARDED] = "sharded",
    [ZP_FIELD_TIED_OPTGROUP] = "optgroup",
    [ZP_FIELD_TIED_FROZEN] = "frozen",
    [ZP_FIELD_TIED_FP32] = "fp32",
    [ZP_FIELD_CONTRIBUTIONS] = "dp·micro_batches",
    [ZP_FIELD_TIED_ENTRIES] = "number of tied entries",
    [ZP_FIELD_ELEMENTS] = "elements of the whole model",
};

const char *zp_field_name(int32_t field)
{
  return field > ZP_FIELD_NONE && field < ZP_FIELDS ? names[field] : "?";
}

void zp_refusal_say(const zp_refusal *why, const char *entry, char *text, int64_t cap)
{
  char where[128] = "";
  int n;
  if (why->index >= 0)
    snprintf(where, sizeof where, entry ? "params[%d] (%.80s): " : "params[%d]: ", (int)why->index,
             entry);
  n = snprintf(text, (size_t)cap, "%s%s: ", where, zp_field_name(why->field));
  if (n >= cap) return;
  text += n;
  cap -= n;
  if (why->field == ZP_FIELD_EP && why->lo == 0 && why->hi == 0)
    snprintf(text, (size_t)cap, "dp mod ep is %" PRId64 " and must be 0", why->value);
  else if (why->lo == why->hi)
    snprintf(text, (size_t)cap, "%" PRId64 " is refused; allowed is %" PRId64, why->value, why->lo);
  else
    snprintf(text, (size_t)cap, "%" PRId64 " is out of range; allowed is %" PRId64 " to %" PRId64,
             why->value, why->lo, why->hi);
}
