/* The earlier operations of a rank. Programs repeat: after the same operations as before, a rank
 * enters the same as then. Of several explanations that need equally few edits, the one that makes
 * a rank repeat itself is the likeliest. conformance/TRACE.md */
#include <string.h>

#include "explain.h"

/* ---- Symbols: the upper half tells groups apart, the lower one only their sizes ---------------- */

static uint64_t mix(uint64_t v)
{
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
  v = (v ^ v >> 27) * 0x94d049bb133111ebu;
  return v ^ v >> 31;
}

uint64_t zp_explain_symbol(uint64_t group, int32_t size, const zp_trace_sig *s)
{
  const int p2p = s->op >= ZP_TRACE_SEND;
  const uint64_t kind = (uint64_t)s->op | (uint64_t)s->redop << 8 | (uint64_t)s->dtype << 16;
  const uint64_t shape = mix(kind ^ mix((uint64_t)s->count));
  const uint64_t own = mix(shape ^ mix(group * 8191 + (uint64_t)(int64_t)s->root));
  const uint64_t role = mix(shape ^ mix((uint64_t)size * 8191 + (p2p ? 0 : (uint64_t)(int64_t)s->root)));
  return own >> 32 << 32 | role >> 32;
}

uint64_t zp_trace_symbol(const group *g, const zp_trace_sig *sig)
{
  if (g == NULL) return ZP_TRACE_PAST_UNKNOWN;
  return zp_explain_symbol((uint64_t)g->index, g->size, sig);
}

uint64_t zp_explain_event_symbol(const explain *x, const event *e)
{
  if (e->kind == EVENT_STEP) return ZP_TRACE_PAST_STEP;
  if (e->kind != EVENT_OP) return ZP_TRACE_PAST_UNKNOWN;
  const team *t = &x->team[e->team];
  const uint64_t group =
      t->known != NULL ? (uint64_t)t->known->index : (uint64_t)e->team + ((uint64_t)1 << 40);
  zp_trace_sig sig = e->sig;
  if (t->known == NULL && t->parent >= 0) sig.root = e->place ? t->from : t->to;
  return zp_explain_symbol(group, t->size, &sig);
}

void zp_trace_note_past(judge *j, player *p, uint64_t symbol)
{
  if (p->past_n == p->past_cap && p->past_cap < j->past_most) {
    const int64_t n = p->past_cap ? 2 * p->past_cap : 16;
    p->past =
        zp_trace_grow(&j->failure, p->past, (size_t)p->past_cap, (size_t)n, sizeof *p->past);
    p->past_cap = n;
  }
  p->past[p->past_n++ & (p->past_cap - 1)] = symbol;
}

/* ---- The sequence of a rank ------------------------------------------------------------------ */

enum { START = 3, FINISH = 4 };

/* Writes the symbols of a rank, the past and then the window, to x->past. Returns how many. *head:
 * where the window begins. */
static int64_t sequence(explain *x, int32_t rank, int64_t *head)
{
  const player *p = &x->j->p[rank];
  const track *t = &x->track[rank];
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  const int64_t most = kept + t->n + 2;
  int64_t n = 0;
  if (most > x->past_cap) {
    x->past = zp_trace_grow(&x->j->failure, x->past, (size_t)x->past_cap, (size_t)most,
                            sizeof *x->past);
    x->past_cap = most;
  }
  if (kept == p->past_n) x->past[n++] = START;
  for (int64_t i = p->past_n - kept; i < p->past_n; i++)
    x->past[n++] = p->past[i & (p->past_cap - 1)];
  *head = n;
  for (int32_t i = t->head; i < t->n; i++)
    if (t->event[i].kind == EVENT_OP || t->event[i].kind == EVENT_STEP)
      x->past[n++] = zp_explain_event_symbol(x, &t->event[i]);
  if (t->ending == END_NORMAL || t->ending == END_EXIT) x->past[n++] = FINISH;
  return n;
}

/* Where event i of a window is in the sequence of n symbols. Operations of the head are the last of
 * the past: they are found by their records. */
static int64_t index_of(const explain *x, int32_t rank, int32_t i, int64_t head)
{
  const player *p = &x->j->p[rank];
  const track *t = &x->track[rank];
  int64_t at = head;
  if (i >= t->head) {
    for (int32_t k = t->head; k < i && k < t->n; k++)
      at += t->event[k].kind == EVENT_OP || t->event[k].kind == EVENT_STEP;
    return at;
  }
  while (i < t->head && t->event[i].kind != EVENT_OP) i++;
  if (i == t->head) return head;
  for (int64_t record = p->reader.records; at > 0 && record > t->event[i].at.record;)
    if (x->past[--at] != ZP_TRACE_PAST_STEP) record--;
  return at;
}

enum { AHEAD = 24, CONTEXT = 64 };

/* How well the symbols `now` continue like `then`: each equal one counts; so does an end without a
 * difference. */
static int32_t agreement(const uint64_t *now, int64_t n_now, const uint64_t *then, int64_t n_then,
                         uint64_t mask)
{
  int64_t k = 0;
  while (k < n_now && k < n_then && ((now[k] ^ then[k]) & mask) == 0) k++;
  return (int32_t)(2 * k + (k == n_now || k == n_then));
}

/* The place before `end` of `in` after which a rank was in the same situation as at `at` of `of`:
 * the symbols before both are equal for the longest time. -1: nowhere. */
static int64_t same_situation(const uint64_t *in, int64_t end, const uint64_t *of, int64_t at,
                              uint64_t mask)
{
  int64_t best = -1, length = 0;
  for (int64_t i = end; i-- > 1;) {
    int64_t k = 0;
    while (k < i && k < at && k < CONTEXT && ((in[i - 1 - k] ^ of[at - 1 - k]) & mask) == 0) k++;
    if (k > length) {
      length = k;
      best = i;
    }
  }
  return best;
}

/* The next symbols from `at` on, after the edit. */
static int64_t edited(const explain *x, const edit *e, int64_t at, int64_t n, int64_t moved,
                      uint64_t *out)
{
  int64_t k = 0, i = at;
  if (e->kind != EDIT_REMOVE) out[k++] = zp_explain_event_symbol(x, &e->what);
  if (e->kind == EDIT_REMOVE || e->kind == EDIT_REPLACE || e->kind == EDIT_REPLACE_ALL) i++;
  for (; i < n && k < AHEAD; i++)
    if (e->kind != EDIT_ORDER || i != moved) out[k++] = x->past[i];
  return k;
}

int32_t zp_explain_support(explain *x, const edit *e)
{
  const uint64_t own = (uint64_t)UINT32_MAX << 32;
  uint64_t after[AHEAD + 1];
  int64_t head;
  const int64_t n = sequence(x, e->rank, &head);
  const int64_t at = index_of(x, e->rank, e->at, head);
  if (e->kind == EDIT_END) return 4;
  const int64_t moved = e->kind == EDIT_ORDER ? index_of(x, e->rank, e->from, head) : -1;
  const int64_t like = same_situation(x->past, at, x->past, at, own);
  if (like < 0) return 0;
  const int64_t n_after = edited(x, e, at, n, moved, after);
  const int64_t n_now = n - at < AHEAD ? n - at : AHEAD;
  return agreement(after, n_after, x->past + like, at - like, own) -
         agreement(x->past + at, n_now, x->past + like, at - like, own);
}
