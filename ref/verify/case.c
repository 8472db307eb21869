#define _GNU_SOURCE
#include "case.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/bucket_slots.h"
#include "../model/table.h"
#include "config_text.h"

static const char *const optim_names[] = {"sgd", "momentum", "adamw", "mixed"};
static const char *const mode_names[] = {"coded", "dyadic", "wild"};
static const char *const reduce_names[] = {"ordered", "exact"};
static const char *const precision_names[] = {"fp32", "bf16", "fp16"};

/* The plain numbers of a case, by name, with the range that the text may give them. */
enum { N_INT32 = 21 };
typedef struct number {
  const char *name;
  int32_t *at;
  int64_t lo, hi;
} number;

static void numbers(zp_case *c, number n[N_INT32])
{
  const number all[N_INT32] = {{"pp", &c->cfg.pp, 1, 1 << 20},
                               {"dp", &c->cfg.dp, 1, 1 << 20},
                               {"tp", &c->cfg.tp, 1, 1 << 20},
                               {"ep", &c->cfg.ep, 1, 1 << 20},
                               {"stage", &c->cfg.stage, 0, 2},
                               {"dynamic", &c->cfg.dynamic_shapes, 0, 1},
                               {"unit", &c->synth.log2_unit, -100, 100},
                               {"unused", &c->synth.unused, 0, 255},
                               {"vary", &c->synth.vary, 0, 1},
                               {"tuple", &c->synth.tuple, 0, 1},
                               {"huge", &c->synth.huge, 0, 1},
                               {"steps", &c->steps, 0, 32},
                               {"rates", &c->rates, 0, 1},
                               {"oneside", &c->synth.oneside, 0, 1},
                               {"sequence", &c->cfg.sequence_parallel, 0, 1},
                               {"replicas", &c->replicas, 1, 1 << 20},
                               {"entry_align", &c->entry_align, 1, 1 << 12},
                               {"slots", &c->slots, 0, ZP_SLOTS_MOST},
                               {"fp32_gradients", &c->synth.fp32_gradients, 0, 1},
                               {"keys", &c->cfg.tied_keys, 0, 1 << 10},
                               {"groups", &c->cfg.optgroups, 1, 1 << 10}};
  memcpy(n, all, sizeof all);
}

/* Bits by step. */
enum { N_MASKS = 3 };
static const char *const masks[N_MASKS] = {"overflow", "oversum", "bad"};

static uint32_t *mask_of(zp_case *c, int32_t i)
{
  return i == 0 ? &c->synth.overflow : i == 1 ? &c->synth.oversum : &c->synth.bad_loss;
}

void zp_case_init(zp_case *c)
{
  memset(c, 0, sizeof *c);
  c->cfg.pp = c->cfg.dp = c->cfg.tp = c->cfg.ep = 1;
  c->cfg.stage = 1;
  c->cfg.precision = ZP_F32;
  c->cfg.micro_batches = 1;
  c->cfg.bucket = 64;
  c->cfg.align = 1;
  c->cfg.optgroups = 1;
  c->synth.seed = 1;
  c->replicas = 1;
  c->entry_align = 1;
  c->steps = 1;
  c->optim = ZP_CASE_ADAMW;
  (void)zp_scaler_init(&c->scaler, 0, 0, 0, 0, 1, 1, 0);
  zp_case_settle(c);
}

void zp_case_copy(zp_case *to, const zp_case *from)
{
  *to = *from;
  to->cfg.params = to->params;
}

void zp_case_settle(zp_case *c)
{
  int32_t groups = 1, keys = 0;
  c->cfg.params = c->params;
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    if (c->params[j].optgroup >= groups) groups = c->params[j].optgroup + 1;
    if (c->params[j].tied >= keys) keys = c->params[j].tied + 1;
  }
  c->cfg.optgroups = groups;
  c->cfg.tied_keys = keys;
}

void zp_case_hyper(const zp_case *c, zp_hyper *hyper)
{
  const zp_optim kinds[3] = {{ZP_OPTIM_SGD, 0.125, 0, 0, 0, 0, 0},
                             {ZP_OPTIM_SGD, 0.05, 0, 0, 0, 0.01, 0.9},
                             {ZP_OPTIM_ADAMW, 0.01, 0.9, 0.95, 1e-8, 0.1, 0}};
  memset(hyper, 0, sizeof *hyper);
  if (c->hyper != NULL) *hyper = *c->hyper;
  else hyper->groups = 3;
  for (int32_t g = 0; g < 3 && c->hyper == NULL; g++) {
    hyper->optim[g] = kinds[c->optim == ZP_CASE_MIXED ? g : c->optim];
    hyper->optim[g].lr /= 1 + g; /* a group that uses another's constants is seen */
  }
  hyper->clip = c->clip;
  hyper->clip_eps = 1e-6;
  hyper->scaler = c->scaler;
  hyper->replicas = c->replicas;
  hyper->entry_align = c->entry_align;
  hyper->slots = c->slots;
  hyper->fp32_gradients = c->synth.fp32_gradients;
}

void zp_case_hyper_at(const zp_case *c, int64_t step, zp_hyper *hyper)
{
  zp_case_hyper(c, hyper);
  for (int32_t g = 0; g < hyper->groups; g++) hyper->optim[g].lr *= zp_table_rate(c->rates, step);
}

int zp_case_check(const zp_case *c, zp_error *err)
{
  zp_refusal why;
  char text[512];
  if (zp_config_check(&c->cfg, &why) == 0)
    return zp_block_check(&c->cfg, c->replicas, err) != 0
               ? err->status
               : zp_block_check_align(&c->cfg, c->entry_align, err);
  zp_refusal_text(&why, NULL, text, sizeof text);
  return zp_fail(err, ZP_E_REFUSED, -1, "%s", text);
}

int64_t zp_case_elements(const zp_case *c)
{
  int64_t n = 0;
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    const zp_param *p = &c->params[j];
    if (zp_synth_use_of(&c->cfg, j).home != j) continue;
    n += p->numel * (p->sharded ? c->cfg.tp : 1) * (p->expert ? c->cfg.ep : 1);
  }
  return n;
}

int32_t zp_case_groups(const zp_case *c, int32_t stage)
{
  int32_t k = 0;
  for (int32_t g = 0; g < c->cfg.optgroups; g++) {
    for (int32_t j = 0; j < c->cfg.n_params; j++) {
      if (c->params[j].stage != stage || c->params[j].optgroup != g || c->params[j].frozen)
        continue;
      k++;
      break;
    }
  }
  return k;
}

/* ---- To text --------------------------------------------------------------------------------- */

typedef struct text {
  char *at;
  int64_t used, cap;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...)
{
  va_list ap;
  int n;
  if (t->used >= t->cap) return;
  va_start(ap, format);
  n = vsnprintf(t->at + t->used, (size_t)(t->cap - t->used), format, ap);
  va_end(ap);
  if (n > 0) t->used += n;
}

static void say_list(text *t, const zp_case *c)
{
  for (int32_t j = 0; j < c->cfg.n_params; j++) {
    const zp_param *p = &c->params[j];
    say(t, "%s%lld@%d.%d%s%s%s%s", j == 0 ? ",list=" : "+", (long long)p->numel, p->stage,
        p->optgroup, p->sharded ? "s" : "", p->expert ? "e" : "", p->frozen ? "f" : "",
        p->fp32 ? "w" : "");
    if (p->tied >= 0) say(t, "t%d", p->tied);
  }
}

void zp_case_format(const zp_case *c, char *out, int64_t cap)
{
  text t = {out, 0, cap};
  zp_case mine, first;
  number a[N_INT32], b[N_INT32];
  zp_case_copy(&mine, c);
  zp_case_init(&first);
  numbers(&mine, a);
  numbers(&first, b);
  out[0] = 0;
  say(&t, "precision=%s,reduce=%s,M=%lld,bucket=%lld", precision_names[c->cfg.precision],
      reduce_names[c->cfg.reduce], (long long)c->cfg.micro_batches, (long long)c->cfg.bucket);
  for (int32_t i = 0; i < N_INT32 - 2; i++) /* the last two follow from the list */
    if (*a[i].at != *b[i].at || i < 5) say(&t, ",%s=%d", a[i].name, *a[i].at);
  if (c->cfg.align != 1) say(&t, ",align=%lld", (long long)c->cfg.align);
  say(&t, ",mode=%s,seed=%llu", mode_names[c->synth.mode], (unsigned long long)c->synth.seed);
  for (int32_t i = 0; i < N_MASKS; i++)
    if (*mask_of(&mine, i) != 0) say(&t, ",%s=%u", masks[i], *mask_of(&mine, i));
  say(&t, ",optim=%s", optim_names[c->optim]);
  if (c->reload.pp != 0)
    say(&t, ",reload=%d:%d:%d:%lld", c->reload.pp, c->reload.dp, c->reload.stage,
        (long long)c->reload.bucket);
  if (c->reload.pp != 0 && c->reload.replicas > 1) say(&t, ":%d", c->reload.replicas);
  if (c->schedule != 0) say(&t, ",schedule=%llu", (unsigned long long)c->schedule);
  if (c->clip != 0) say(&t, ",clip=%.17g", c->clip);
  if (c->scaler.dynamic)
    say(&t, ",scale=%d:%lld:%d:%d:%d:%d", c->scaler.log2_scale, (long long)c->scaler.window,
        c->scaler.hysteresis, c->scaler.consecutive, c->scaler.log2_min, c->scaler.log2_max);
  else if (c->scaler.log2_scale != 0) say(&t, ",scale=%d", c->scaler.log2_scale);
  say_list(&t, c);
}

/* ---- From text ------------------------------------------------------------------------------- */

static int word_in(const char *const *names, int32_t n, const char *word, int32_t *value)
{
  for (int32_t i = 0; i < n; i++) {
    if (strcmp(names[i], word) != 0) continue;
    *value = i;
    return 0;
  }
  return -1;
}

/* A whole number in [lo, hi] at *at, which moves to what follows it. */
static int part(const char **at, int64_t lo, int64_t hi, int64_t *value)
{
  const char *digits = *at + (**at == '-');
  char *end;
  errno = 0;
  const long long v = strtoll(*at, &end, 10);
  if (*digits < '0' || *digits > '9' || errno != 0 || v < lo || v > hi) return -1;
  *value = v;
  *at = end;
  return 0;
}

/* All of the word. */
static int whole(const char *word, int64_t lo, int64_t hi, int64_t *value)
{
  return part(&word, lo, hi, value) || *word != 0 ? -1 : 0;
}

/* n whole numbers with colons between them. */
static int row(const char *word, int32_t n, const int64_t lo[], const int64_t hi[], int64_t value[])
{
  for (int32_t i = 0; i < n; i++)
    if (part(&word, lo[i], hi[i], &value[i]) || *word++ != (i < n - 1 ? ':' : 0)) return -1;
  return 0;
}

static int seed_number(const char *word, uint64_t *value)
{
  char *end;
  errno = 0;
  *value = strtoull(word, &end, 10);
  return *word >= '0' && *word <= '9' && errno == 0 && *end == 0 ? 0 : -1;
}

/* "5@0.1st2" */
static int parse_entry(const char *at, zp_param *p)
{
  int64_t stage, optgroup, tied;
  memset(p, 0, sizeof *p);
  p->tied = -1;
  if (part(&at, 0, ZP_MAX_ELEMENTS, &p->numel) || *at++ != '@') return -1;
  if (part(&at, 0, ZP_MAX_RANKS - 1, &stage) || *at++ != '.') return -1;
  if (part(&at, 0, ZP_MAX_GROUPS - 1, &optgroup)) return -1;
  p->stage = (int32_t)stage;
  p->optgroup = (int32_t)optgroup;
  while (*at != 0) {
    const char flag = *at++;
    if (flag == 's') p->sharded = 1;
    else if (flag == 'e') p->expert = 1;
    else if (flag == 'f') p->frozen = 1;
    else if (flag == 'w') p->fp32 = 1;
    else if (flag != 't' || part(&at, 0, ZP_MAX_TIED - 1, &tied)) return -1;
    else p->tied = (int32_t)tied;
  }
  return 0;
}

static int parse_list(zp_case *c, char *list)
{
  char *save = NULL;
  c->cfg.n_params = 0;
  for (char *w = strtok_r(list, "+", &save); w != NULL; w = strtok_r(NULL, "+", &save)) {
    if (c->cfg.n_params == ZP_CASE_PARAMS) return -1;
    if (parse_entry(w, &c->params[c->cfg.n_params])) return -1;
    c->cfg.n_params++;
  }
  return 0;
}

static int parse_scale(zp_case *c, const char *value)
{
  enum { LOG2, WINDOW, HYSTERESIS, CONSECUTIVE, LEAST, MOST, N };
  static const int64_t lo[N] = {-126, 1, 1, 0, -126, -126};
  static const int64_t hi[N] = {126, INT64_MAX, INT32_MAX, 1, 126, 126};
  int64_t v[N];
  if (strchr(value, ':') == NULL) {
    if (whole(value, -126, 126, v)) return -1;
    return zp_scaler_init(&c->scaler, 0, (int32_t)v[0], (int32_t)v[0], (int32_t)v[0], 1, 1, 0);
  }
  if (row(value, N, lo, hi, v)) return -1;
  return zp_scaler_init(&c->scaler, 1, (int32_t)v[LOG2], (int32_t)v[LEAST], (int32_t)v[MOST],
                        v[WINDOW], (int32_t)v[HYSTERESIS], (int32_t)v[CONSECUTIVE]);
}

static int parse_reload(zp_case *c, const char *value)
{
  static const int64_t lo[5] = {1, 1, 0, 1, 1};
  static const int64_t hi[5] = {ZP_MAX_RANKS, ZP_MAX_RANKS, 2, ZP_MAX_BUCKET, ZP_MAX_RANKS};
  int64_t v[5] = {0};
  if (row(value, 4, lo, hi, v) && row(value, 5, lo, hi, v)) return -1;
  c->reload = (zp_reload){(int32_t)v[0], (int32_t)v[1], (int32_t)v[2], v[3], (int32_t)v[4]};
  return 0;
}

static int parse_mask(const char *value, uint32_t *mask)
{
  int64_t v;
  if (whole(value, 0, UINT32_MAX, &v)) return -1;
  *mask = (uint32_t)v;
  return 0;
}

/* One "name=value"; value is scratch. */
static int parse_field(zp_case *c, const char *name, char *value)
{
  number n[N_INT32];
  int64_t v = 0;
  char *end;
  numbers(c, n);
  for (int32_t i = 0; i < N_INT32; i++) {
    if (strcmp(n[i].name, name) != 0) continue;
    if (whole(value, n[i].lo, n[i].hi, &v)) return -1;
    *n[i].at = (int32_t)v;
    return 0;
  }
  if (strcmp(name, "M") == 0) return whole(value, 1, 1 << 20, &c->cfg.micro_batches);
  if (strcmp(name, "bucket") == 0) return whole(value, 1, (int64_t)1 << 40, &c->cfg.bucket);
  if (strcmp(name, "align") == 0) return whole(value, 1, 1 << 12, &c->cfg.align);
  if (strcmp(name, "precision") == 0) return word_in(precision_names, 3, value, &c->cfg.precision);
  if (strcmp(name, "reduce") == 0) return word_in(reduce_names, 2, value, &c->cfg.reduce);
  if (strcmp(name, "mode") == 0) return word_in(mode_names, 3, value, &c->synth.mode);
  if (strcmp(name, "optim") == 0) return word_in(optim_names, 4, value, &c->optim);
  if (strcmp(name, "scale") == 0) return parse_scale(c, value);
  if (strcmp(name, "reload") == 0) return parse_reload(c, value);
  if (strcmp(name, "list") == 0) return parse_list(c, value);
  if (strcmp(name, "clip") == 0) {
    c->clip = strtod(value, &end);
    return *end == 0 && end != value && c->clip >= 0 && c->clip <= ZP_CLIP_MOST ? 0 : -1;
  }
  for (int32_t i = 0; i < N_MASKS; i++)
    if (strcmp(name, masks[i]) == 0) return parse_mask(value, mask_of(c, i));
  if (strcmp(name, "seed") == 0) return seed_number(value, &c->synth.seed);
  return strcmp(name, "schedule") == 0 ? seed_number(value, &c->schedule) : -1;
}

int zp_case_parse(zp_case *c, const char *in, char *why, int64_t cap)
{
  char *copy = strdup(in), *save = NULL;
  int bad = 0;
  if (copy == NULL) {
    snprintf(why, (size_t)cap, "no memory");
    return -1;
  }
  for (char *w = strtok_r(copy, ",", &save); w != NULL && !bad; w = strtok_r(NULL, ",", &save)) {
    char *value = strchr(w, '=');
    if (value != NULL) *value = 0;
    bad = value == NULL || parse_field(c, w, value + 1);
    if (bad) snprintf(why, (size_t)cap, "'%s' is not a field with a value it can have", w);
  }
  free(copy);
  if (bad) return -1;
  zp_case_settle(c);
  return 0;
}
