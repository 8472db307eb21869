/* Random numbers of a case, and its first finding. */
#include "rank_state.h"

#include <stdarg.h>
#include <stdio.h>

static uint64_t mixed(uint64_t x)
{
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

static int32_t draw(const zp_case *c, int64_t rank, int64_t what, int64_t which, int32_t n)
{
  uint64_t h = mixed(c->synth.seed + UINT64_C(0x9e3779b97f4a7c15));
  h = mixed(h + (uint64_t)(rank + 2) * 1000003);
  h = mixed(h + (uint64_t)what * 7919);
  return n > 0 ? (int32_t)(mixed(h + (uint64_t)which) % (uint64_t)n) : 0;
}

int32_t zp_rank_draw(const zp_rank_job *r, int32_t rank, int64_t what, int64_t which, int32_t n)
{
  return draw(r->c, rank, what, which, n);
}

/* Has the rank of the wrong call ended this one? A rank may be a step behind it: nothing but the
 * statistics makes all ranks wait for each other. */
static int is_ended_by_other(const zp_rank_job *r)
{
  const zp_error *why = r->e && r->err.status == ZP_OK ? zp_engine_why(r->e) : &r->err;
  return zp_rank_ends_wrongly(r->c) && !r->misuse && r->step >= r->c->steps - 2 &&
         why->status == ZP_E_PEER;
}

int zp_rank_found(zp_rank_job *r, const char *clause, const char *format, ...)
{
  va_list ap;
  if (r->found->clause[0]) return 1;
  if (is_ended_by_other(r)) {
    r->found->left = 1;
    return 1;
  }
  snprintf(r->found->clause, sizeof r->found->clause, "%s", clause);
  r->found->step = r->step;
  const int n =
      snprintf(r->found->text, sizeof r->found->text,
               "step %lld, rank %d (stage %d, dp %d, tp %d): ", (long long)r->step, (int)r->o->rank,
               (int)r->ref->at.pp, (int)r->ref->at.dp, (int)r->ref->at.tp);
  va_start(ap, format);
  vsnprintf(r->found->text + n, sizeof r->found->text - (size_t)n, format, ap);
  va_end(ap);
  return 1;
}

int zp_rank_ends_wrongly(const zp_case *c)
{
  return draw(c, -1, ZP_DRAW_MISUSE, 0, 4) == 0;
}
