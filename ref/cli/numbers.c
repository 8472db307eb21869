#include "numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
