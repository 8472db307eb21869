/* Words for people, and numbers from people. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/refusal.h"
#include "options.h"

int zp_parse_count(const char *text, int64_t *value)
{
  static const char units[] = "KMGT";
  int64_t v = 0;
  const char *p = text;
  if (*p < '0' || *p > '9') return -1;
  for (; *p >= '0' && *p <= '9'; p++)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v)) return -1;
  if (*p != 0) {
    const char *u = strchr(units, *p);
    if (u == NULL || p[1] != 'i' || p[2] != 0) return -1;
    if (__builtin_mul_overflow(v, (int64_t)1 << (10 * (u - units + 1)), &v)) return -1;
  }
  *value = v;
  return 0;
}

const char *zp_precision_name(int32_t dtype)
{
  return dtype == ZP_F32 ? "fp32" : dtype == ZP_BF16 ? "bf16" : dtype == ZP_F16 ? "fp16" : "?";
}

const char *zp_reduce_name(int32_t reduce)
{
  return reduce == ZP_ORDERED ? "ordered" : reduce == ZP_EXACT ? "exact" : "?";
}

int zp_refuse(const zp_options *o, const char *format, ...)
{
  va_list ap;
  if (!zp_cli_speaks()) return ZP_EXIT_REFUSED;
  va_start(ap, format);
  fprintf(stderr, "%s: ", o->command);
  if (o->config_file != NULL) fprintf(stderr, "(with --config %s) ", o->config_file);
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
  va_end(ap);
  return ZP_EXIT_REFUSED;
}

int zp_exit_of(int32_t status)
{
  switch (status) {
  case ZP_OK: return ZP_EXIT_GOOD;
  case ZP_E_REFUSED: return ZP_EXIT_REFUSED;
  case ZP_E_MEMORY:
  case ZP_E_PEER:
  case ZP_E_DEVICE:
  case ZP_E_FILE: return ZP_EXIT_ENVIRONMENT;
  default: return ZP_EXIT_VERDICT;
  }
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
    [ZP_FIELD_TIED_NUMEL] = "Entries of one tied key must agree in numel.",
    [ZP_FIELD_TIED_SHARDED] = "Entries of one tied key must agree in sharded.",
    [ZP_FIELD_TIED_OPTGROUP] = "Entries of one tied key must agree in optgroup.",
    [ZP_FIELD_TIED_FROZEN] = "Entries of one tied key must agree in frozen.",
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

/* One "name=value" of a dynamic loss scale into the numbers that zp_scaler_init takes. */
static int scale_item(const char *item, size_t n, int64_t number[6], char *why, int64_t cap)
{
  static const char *const names[6] = {"init", "min", "max", "window", "hysteresis", "consecutive"};
  char word[64] = "", *eq;
  if (n < sizeof word) memcpy(word, item, n);
  eq = strchr(word, '=');
  if (eq != NULL) *eq++ = 0;
  for (int i = 0; i < 6 && eq != NULL; i++) {
    if (strcmp(word, names[i]) != 0) continue;
    if (i < 3) {
      char *end;
      union {
        double f;
        uint64_t u;
      } bits;
      int32_t log2_scale = 0;
      bits.f = strtod(eq, &end);
      if (*eq == 0 || *end != 0 || zp_scaler_from_f64(bits.u, &log2_scale) != 0) {
        snprintf(why, (size_t)cap, "%s: '%s' is not a power of two from 2^-126 to 2^126.", word,
                 eq);
        return -1;
      }
      number[i] = log2_scale;
    } else if (zp_parse_count(eq, &number[i]) != 0 || (i != 3 && number[i] > 1 << 20)) {
      snprintf(why, (size_t)cap, "%s: '%s' is not a whole number in range.", word, eq);
      return -1;
    }
    return 0;
  }
  snprintf(why, (size_t)cap,
           "'%.*s' is not one of init=, min=, max=, window=, hysteresis=, "
           "consecutive=.",
           (int)n, item);
  return -1;
}

int zp_parse_loss_scale(const char *text, zp_scaler *scaler, char *why, int64_t cap)
{
  int64_t number[6] = {16, 0, 24, 1000, 1, 0};
  const int dynamic = strncmp(text, "dynamic", 7) == 0 && (text[7] == 0 || text[7] == ':');
  if (!dynamic) {
    char item[64];
    if (strlen(text) > 40 || *text == 0) {
      snprintf(why, (size_t)cap, "'%.60s' is neither a power of two nor dynamic.", text);
      return -1;
    }
    snprintf(item, sizeof item, "init=%s", text);
    if (scale_item(item, strlen(item), number, why, cap) != 0) return -1;
    number[1] = number[2] = number[0];
  }
  for (const char *p = text + 8; dynamic && text[7] == ':';) {
    const size_t n = strcspn(p, ",");
    if (scale_item(p, n, number, why, cap) != 0) return -1;
    if (p[n] == 0) break;
    p += n + 1;
  }
  if (zp_scaler_init(scaler, dynamic, (int32_t)number[0], (int32_t)number[1], (int32_t)number[2],
                     number[3], (int32_t)number[4], (int32_t)number[5]) != 0) {
    snprintf(why, (size_t)cap,
             "needs min <= init <= max, window >= 1, hysteresis >= 1, "
             "consecutive 0 or 1 (init=2^%d, min=2^%d, max=2^%d).",
             (int)number[0], (int)number[1], (int)number[2]);
    return -1;
  }
  return 0;
}
