/* Hyperparameters in checkpoints: the manifest's member `workload` is the text of an object with
 * {"hyper": {"clip", "clip_eps", "optim": [{"kind", "lr", …}]}}, numbers as in C's %a, and
 * "global_batch", the micro-batches of a step on all ranks. `train` adds members of its own
 * (ref/verify/train_hyper.c).
 * spec: CKPT-10, OPT-6 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_parts.h"

static json_t *hex_float(double x)
{
  return json_sprintf("%a", x);
}

char *zp_engine_hyper_text(const zp_hyper *h, int64_t global_batch)
{
  json_t *list = json_array(), *doc;
  char *text = NULL;
  for (int32_t g = 0; g < h->groups; g++) {
    const zp_optim *p = &h->optim[g];
    json_t *o = json_pack("{s:s}", "kind", p->kind == ZP_OPTIM_ADAMW ? "adamw" : "sgd");
    for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++)
      json_object_set_new(o, zp_optim_fields[i].name,
                          hex_float(zp_optim_value(p, &zp_optim_fields[i])));
    json_array_append_new(list, o);
  }
  doc = json_pack("{s:{s:o, s:o, s:o}}", "hyper", "clip", hex_float(h->clip), "clip_eps",
                  hex_float(h->clip_eps), "optim", list);
  if (doc && global_batch > 0)
    json_object_set_new(doc, "global_batch", json_integer((json_int_t)global_batch));
  if (doc) text = json_dumps(doc, JSON_COMPACT);
  json_decref(doc);
  return text;
}

/* Member `name` as a number. 0, or -1: it is missing, or not a finite number. */
static int read_real(const json_t *o, const char *name, double *x)
{
  const char *text = json_string_value(json_object_get(o, name));
  char *end = NULL;
  *x = text ? strtod(text, &end) : 0;
  return text && end != text && *end == 0 && isfinite(*x) ? 0 : -1;
}

static int read_optim(const json_t *o, zp_optim *p)
{
  const char *kind = json_string_value(json_object_get(o, "kind"));
  memset(p, 0, sizeof *p);
  if (!kind || (strcmp(kind, "adamw") != 0 && strcmp(kind, "sgd") != 0)) return -1;
  p->kind = strcmp(kind, "adamw") == 0 ? ZP_OPTIM_ADAMW : ZP_OPTIM_SGD;
  for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++) {
    double x;
    if (read_real(o, zp_optim_fields[i].name, &x)) return -1;
    memcpy((char *)p + zp_optim_fields[i].offset, &x, sizeof x);
  }
  return 0;
}

/* *h becomes what the document has; its scaler and replicas stay. 0, or -1: a member is wrong. */
static int read_hyper(const json_t *doc, zp_hyper *h)
{
  const json_t *list = json_object_get(doc, "optim");
  const size_t n = json_array_size(list);
  if (n < 1 || n > ZP_HYPER_GROUPS) return -1;
  h->groups = (int32_t)n;
  for (size_t g = 0; g < n; g++)
    if (read_optim(json_array_get(list, g), &h->optim[g])) return -1;
  return read_real(doc, "clip", &h->clip) || read_real(doc, "clip_eps", &h->clip_eps) ? -1 : 0;
}

static int same_optimizers(const zp_hyper *a, const zp_hyper *b)
{
  if (a->groups != b->groups) return 0;
  for (int32_t g = 0; g < a->groups; g++)
    if (a->optim[g].kind != b->optim[g].kind) return 0;
  return 1;
}

int zp_engine_hyper_read(const char *workload, int32_t rank, int32_t any, zp_hyper *hyper,
                         zp_error *err)
{
  json_error_t why;
  json_t *doc = json_loads(workload, JSON_REJECT_DUPLICATES, &why);
  const json_t *saved = json_object_get(doc, "hyper");
  zp_hyper h = *hyper;
  zp_error range = {0};
  int bad = 0, same = 0;
  char who[24] = "";
  if (rank >= 0) snprintf(who, sizeof who, "rank %d: ", (int)rank);
  if (saved) bad = read_hyper(saved, &h);
  if (saved && !bad) same = any || same_optimizers(&h, hyper);
  if (same) bad = zp_hyper_check(&h, rank, &range);
  json_decref(doc);
  if (bad)
    return zp_fail(err, ZP_E_FILE, rank,
                   "%sthe manifest's hyperparameters lack a number, or one is out of range: "
                   "%s (CKPT-4)",
                   who, range.status ? range.text : "it was not written by this program");
  if (same) *hyper = h;
  return ZP_OK;
}
