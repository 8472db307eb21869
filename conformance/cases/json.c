/* From a recipe to its JSON, and from a case to its expected values. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/verify/random_case.h"
#include "cases.h"

/* A text of the caller's as a JSON string, which cannot hold every sequence of bytes: a text that
 * is not UTF-8, or was cut within a character, gets a question mark for each byte above 127. */
static json_t *text_of(const char *text)
{
  json_t *out = json_string(text);
  char *copy = out == NULL ? strdup(text) : NULL;
  for (char *p = copy; p != NULL && *p != 0; p++)
    if ((unsigned char)*p > 127) *p = '?';
  if (copy != NULL) out = json_string(copy);
  free(copy);
  return out;
}

json_t *zp_conf_case(const char *text)
{
  static zp_recipe r;
  char why[ZP_CONF_WHY] = "";
  json_t *out = NULL;
  zp_table *table = NULL;
  if (zp_recipe_parse(&r, text, why, sizeof why) == 0) table = zp_conf_make(&r, why, sizeof why);
  if (table != NULL && zp_conf_prove(&r, table, why, sizeof why) == 0) {
    out = zp_conf_json(&r, table, text);
    if (out == NULL) snprintf(why, sizeof why, "no memory for its JSON document");
  }
  zp_table_free(table);
  return out != NULL ? out
                     : json_pack("{s:o, s:o}", "recipe", text_of(text), "refused", text_of(why));
}

void zp_conf_random_recipe(uint64_t seed, uint64_t i, char *text, int64_t cap)
{
  static zp_case c;
  zp_fuzz_random(seed, i, &c);
  c.cfg.reduce = ZP_EXACT;
  c.cfg.align = 1;
  c.synth.mode = ZP_SYNTH_CODED;
  c.synth.huge = 0;
  c.synth.bad_loss = 0;
  c.reload.pp = 0;
  c.replicas = 1;
  c.entry_align = 1; /* the engine's own choices, no part of a case */
  c.slots = 0;
  c.synth.fp32_gradients = 0;
  for (int32_t j = 0; j < c.cfg.n_params; j++) c.params[j].fp32 &= c.cfg.precision != ZP_F32;
  c.rates = 0;
  c.synth.oversum = 0;
  if (c.optim == ZP_CASE_MIXED) c.optim = ZP_CASE_SGD;
  zp_case_format(&c, text, cap);
}

json_t *zp_conf_expected(const json_t *from)
{
  char why[ZP_CONF_WHY] = "it is no JSON object";
  zp_table *table = json_is_object(from) ? zp_conf_read(from, why, sizeof why) : NULL;
  json_t *out = table != NULL ? zp_conf_oracle(table, why, sizeof why) : NULL;
  zp_table_free(table);
  if (out == NULL) return json_pack("{s:o}", "refused", text_of(why));
  if (json_object_get(from, "id") != NULL) json_object_set(out, "id", json_object_get(from, "id"));
  return out;
}
