#define _GNU_SOURCE
/* Greedy shrinking: the simplest change that keeps the failure is kept, until none does.
 *
 * The conformance suite has a shrinker of its own (conformance/judge/shrink.py): its recipes have
 * fields that a zp_case lacks (wide, comm, first, an adapter's options), a candidate must be proven
 * exact first, and it fails in another program. The two share no step. */
#include <stddef.h>
#include <string.h>

#include "../base/clock.h"
#include "case_process.h"

typedef struct shrinker {
  const zp_backend *engine;
  const zp_fault *fault;
  int32_t end;
  char clause[12]; /* that the verdict must still name; "" for crashes and hangs */
  double until;
  int64_t tried;
  zp_case *best;
  zp_verdict *v;
} shrinker;

/* Is the candidate valid, and does it still fail in the same way? Then it is the best so far. */
static int keep(shrinker *s, zp_case *c)
{
  static zp_verdict v;
  zp_error err = {0};
  int32_t end;
  if (zp_clock_s() > s->until) return 0;
  zp_case_settle(c);
  if (zp_case_check(c, &err) != 0) return 0;
  s->tried++;
  end = zp_fuzz_one(s->engine, c, s->fault, s->engine->case_timeout_s / 2, &v);
  if (end != s->end) return 0;
  if (end == ZP_FUZZ_FAILED && s->clause[0] != 0 && !zp_verdict_names(&v, s->clause)) return 0;
  if (end == ZP_FUZZ_FAILED && v.schedule != 0) c->schedule = v.schedule;
  zp_case_copy(s->best, c);
  if (end == ZP_FUZZ_FAILED) *s->v = v;
  return 1;
}

/* Tries `value` for the field at byte `offset` of the case. */
static int try_int32(shrinker *s, size_t offset, int32_t value)
{
  zp_case c;
  int32_t now;
  zp_case_copy(&c, s->best);
  memcpy(&now, (const char *)&c + offset, sizeof now);
  if (now == value) return 0;
  memcpy((char *)&c + offset, &value, sizeof value);
  return keep(s, &c);
}

/* Smaller by as much as possible: least, half-way, one less. */
static int lower_int32(shrinker *s, size_t offset, int32_t least)
{
  int32_t now;
  memcpy(&now, (const char *)s->best + offset, sizeof now);
  if (now <= least) return 0;
  return try_int32(s, offset, least) || try_int32(s, offset, least + (now - least) / 2) ||
         try_int32(s, offset, now - 1);
}

static int lower_int64(shrinker *s, size_t offset, int64_t least)
{
  int64_t now;
  const int64_t *at = (const int64_t *)(const void *)((const char *)s->best + offset);
  now = *at;
  for (int32_t i = 0; i < 3 && now > least; i++) {
    const int64_t value = i == 0 ? least : i == 1 ? least + (now - least) / 2 : now - 1;
    zp_case c;
    zp_case_copy(&c, s->best);
    memcpy((char *)&c + offset, &value, sizeof value);
    if (keep(s, &c)) return 1;
  }
  return 0;
}

/* One pipeline stage, data-parallel rank … fewer; entries beyond move to the last stage. */
static int shrink_topology(shrinker *s)
{
  for (int32_t pp = 1; pp < s->best->cfg.pp; pp++) {
    zp_case c;
    zp_case_copy(&c, s->best);
    c.cfg.pp = pp;
    for (int32_t j = 0; j < c.cfg.n_params; j++)
      if (c.params[j].stage >= pp) c.params[j].stage = pp - 1;
    if (keep(s, &c)) return 1;
  }
  for (int32_t dp = 1; dp < s->best->cfg.dp; dp++) {
    zp_case c;
    zp_case_copy(&c, s->best);
    c.cfg.dp = dp;
    if (dp % c.cfg.ep != 0) c.cfg.ep = 1;
    if (dp % (c.cfg.ep * c.replicas) != 0) continue;
    if (keep(s, &c)) return 1;
  }
  return lower_int32(s, offsetof(zp_case, cfg.tp), 1) || try_int32(s, offsetof(zp_case, cfg.ep), 1);
}

/* Drops entries: halves of the list, then one by one. */
static int shrink_list(shrinker *s)
{
  for (int32_t n = (s->best->cfg.n_params + 1) / 2; n >= 1; n = n > 1 ? (n + 1) / 2 : 0) {
    for (int32_t from = 0; from + n <= s->best->cfg.n_params; from++) {
      zp_case c;
      zp_case_copy(&c, s->best);
      memmove(&c.params[from], &c.params[from + n],
              (size_t)(c.cfg.n_params - from - n) * sizeof c.params[0]);
      c.cfg.n_params -= n;
      if (keep(s, &c)) return 1;
    }
  }
  return 0;
}

/* Entry j simpler by one thing; a tied key's entries change together. */
static int shrink_entry(shrinker *s, int32_t j)
{
  for (int32_t what = 0; what < 10; what++) {
    zp_case c;
    const int32_t key = s->best->params[j].tied;
    zp_case_copy(&c, s->best);
    for (int32_t i = 0; i < c.cfg.n_params; i++) {
      zp_param *p = &c.params[i];
      if (i != j && (key < 0 || p->tied != key)) continue;
      if (what == 0) p->numel = 1;
      else if (what == 1) p->numel = p->numel / 2;
      else if (what == 2 && p->numel > 0) p->numel = p->numel - 1;
      else if (what == 3) p->tied = -1;
      else if (what == 4) p->sharded = 0;
      else if (what == 5) p->expert = 0;
      else if (what == 6) p->frozen = 0;
      else if (what == 7) p->optgroup = 0;
      else if (what == 8 && p->tied > 0) p->tied = 0;
      else if (what == 9) p->fp32 = 0;
    }
    if (memcmp(c.params, s->best->params, sizeof c.params) == 0) continue;
    if (c.params[j].numel > s->best->params[j].numel) continue;
    if (keep(s, &c)) return 1;
  }
  return 0;
}

static int shrink_entries(shrinker *s)
{
  for (int32_t j = 0; j < s->best->cfg.n_params; j++)
    if (shrink_entry(s, j)) return 1;
  return 0;
}

static int shrink_training(shrinker *s)
{
  zp_case c;
  zp_case_copy(&c, s->best);
  if (c.synth.seed != 1) {
    c.synth.seed = 1;
    if (keep(s, &c)) return 1;
  }
  if (try_int32(s, offsetof(zp_case, reload.pp), 0)) return 1;
  if (lower_int32(s, offsetof(zp_case, steps), 1)) return 1;
  if (lower_int64(s, offsetof(zp_case, cfg.micro_batches), 1)) return 1;
  zp_case_copy(&c, s->best);
  if (c.clip != 0) {
    c.clip = 0;
    if (keep(s, &c)) return 1;
    zp_case_copy(&c, s->best);
  }
  if (c.scaler.dynamic || c.scaler.log2_scale != 0) {
    (void)zp_scaler_init(&c.scaler, 0, 0, 0, 0, 1, 1, 0);
    c.synth.log2_unit = 0;
    if (keep(s, &c)) return 1;
  }
  return try_int32(s, offsetof(zp_case, optim), ZP_CASE_SGD) ||
         try_int32(s, offsetof(zp_case, rates), 0) ||
         try_int32(s, offsetof(zp_case, synth.overflow), 0) ||
         try_int32(s, offsetof(zp_case, synth.oversum), 0) ||
         try_int32(s, offsetof(zp_case, synth.oneside), 0) ||
         try_int32(s, offsetof(zp_case, synth.log2_unit), -s->best->scaler.log2_scale) ||
         try_int32(s, offsetof(zp_case, synth.bad_loss), 0) ||
         try_int32(s, offsetof(zp_case, synth.unused), 0) ||
         try_int32(s, offsetof(zp_case, synth.vary), 0) ||
         try_int32(s, offsetof(zp_case, synth.tuple), 0) ||
         try_int32(s, offsetof(zp_case, synth.huge), 0) ||
         try_int32(s, offsetof(zp_case, synth.mode), ZP_SYNTH_CODED) ||
         try_int32(s, offsetof(zp_case, cfg.dynamic_shapes), 0) ||
         try_int32(s, offsetof(zp_case, cfg.sequence_parallel), 0) ||
         lower_int32(s, offsetof(zp_case, replicas), 1) ||
         try_int32(s, offsetof(zp_case, entry_align), 1) ||
         try_int32(s, offsetof(zp_case, slots), 0) ||
         try_int32(s, offsetof(zp_case, synth.fp32_gradients), 0) ||
         lower_int32(s, offsetof(zp_case, cfg.stage), 0) ||
         try_int32(s, offsetof(zp_case, cfg.reduce), ZP_ORDERED) ||
         try_int32(s, offsetof(zp_case, cfg.precision), ZP_F32) ||
         lower_int64(s, offsetof(zp_case, cfg.align), 1);
}

/* One bucket for everything is the simplest, then a small number. */
static int shrink_bucket(shrinker *s)
{
  zp_case c;
  if (s->best->cfg.bucket == 64) return 0;
  zp_case_copy(&c, s->best);
  c.cfg.bucket = 64;
  return keep(s, &c);
}

int64_t zp_fuzz_shrink(const zp_backend *engine, zp_case *c, const zp_fault *fault, int32_t end,
                       double seconds_max, zp_verdict *v)
{
  shrinker s = {engine, fault, end, "", zp_clock_s() + seconds_max, 0, c, v};
  int32_t more = 1;
  if (end == ZP_FUZZ_FAILED && v->n_clauses > 0) memcpy(s.clause, v->clause[0], sizeof s.clause);
  while (more && zp_clock_s() < s.until)
    more = shrink_topology(&s) || shrink_list(&s) || shrink_training(&s) || shrink_entries(&s) ||
           shrink_bucket(&s);
  return s.tried;
}
