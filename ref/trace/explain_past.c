/* The earlier operations of a rank. Programs repeat: after the same operations as before, a rank
 * enters the same as then. Of several explanations that need equally few edits, the one that makes
 * a rank repeat itself is the likeliest. conformance/TRACE.md */
#include <string.h>

#include "explain.h"

/* ---- Symbols: the upper half distinguishes groups, the lower one their sizes ---- */

static uint64_t mix(uint64_t v)
{
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
  v = (v ^ v >> 27) * 0x94d049bb133111ebu;
  return v ^ v >> 31;
}

/* The symbol of an operation in the sequence of a rank: equal operations of a group are equal. */
static uint64_t symbol_of(uint64_t group, int32_t size, const zp_trace_sig *s)
{
  const int p2p = s->op >= ZP_TRACE_SEND;
  const uint64_t kind = (uint64_t)s->op | (uint64_t)s->redop << 8 | (uint64_t)s->dtype << 16;
  const uint64_t shape = mix(kind ^ mix((uint64_t)s->count));
  const uint64_t own = mix(shape ^ mix(group * 8191 + (uint64_t)(int64_t)s->root));
  const uint64_t role =
      mix(shape ^ mix((uint64_t)size * 8191 + (p2p ? 0 : (uint64_t)(int64_t)s->root)));
  return own >> 32 << 32 | role >> 32;
}

/* In both halves. Programs end where a step could begin, so the end is no other symbol. */
#define UNKNOWN ((uint64_t)1 << 32 | 1)
#define STEP ((uint64_t)2 << 32 | 2)
#define START ((uint64_t)3 << 32 | 3)

/* The symbol of an operation at a call site, if sites count. */
static uint64_t at_site(const explain *x, uint64_t symbol, const char *site)
{
  return x->by_line ? symbol ^ mix(zp_explain_line(site)) >> 32 << 32 : symbol;
}

/* The symbol of an element of a rank's past. */
static uint64_t past_symbol(const explain *x, const player *p, int32_t link)
{
  if (link <= ZP_TRACE_PAST_STEP) return STEP;
  if (p->link[link].g == NULL) return UNKNOWN;
  const group *g = p->link[link].g;
  const zp_trace_def *d = &p->known[link];
  const uint64_t symbol = symbol_of((uint64_t)g->index, g->size, &d->sig);
  return at_site(x, symbol, zp_trace_text(&p->reader, &p->reader.sites, d->site));
}

static uint64_t event_symbol(const explain *x, const event *e)
{
  if (e->kind == EVENT_STEP) return STEP;
  if (e->kind != EVENT_OP) return UNKNOWN;
  const team *t = &x->team[e->team];
  const uint64_t group =
      t->known != NULL ? (uint64_t)t->known->index : (uint64_t)e->team + ((uint64_t)1 << 40);
  zp_trace_sig sig = e->sig;
  if (t->known == NULL && t->parent >= 0) sig.root = e->place ? t->from : t->to;
  return at_site(x, symbol_of(group, t->size, &sig), e->site);
}

void zp_trace_grow_past(judge *j, player *p)
{
  const int64_t n = p->past_cap ? 2 * p->past_cap : 16;
  p->past = zp_trace_grow(&j->failure, p->past, (size_t)p->past_cap, (size_t)n, sizeof *p->past);
  p->past_cap = n;
}

/* ---- The sequence of a rank ------------------------------------------------------------------ */

/* Writes the symbols of a rank, the past and then the window, to x->past[to]. Returns how many.
 * *head: where the window begins. */
static int64_t sequence(explain *x, int32_t rank, int to, int64_t *head)
{
  const player *p = &x->j->p[rank];
  const track *t = &x->track[rank];
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  const int64_t most = kept + t->n + 2;
  int64_t n = 0;
  if (most > x->past_cap[to]) {
    x->past[to] = zp_trace_grow(&x->j->failure, x->past[to], (size_t)x->past_cap[to], (size_t)most,
                                sizeof *x->past[to]);
    x->past_cap[to] = most;
  }
  uint64_t *past = x->past[to];
  if (kept == p->past_n) past[n++] = START;
  for (int64_t i = p->past_n - kept; i < p->past_n; i++)
    past[n++] = past_symbol(x, p, p->past[i & (p->past_cap - 1)]);
  *head = n;
  for (int32_t i = t->head; i < t->n; i++)
    if (t->event[i].kind == EVENT_OP || t->event[i].kind == EVENT_STEP)
      past[n++] = event_symbol(x, &t->event[i]);
  if (t->ending == END_NORMAL || t->ending == END_EXIT) past[n++] = STEP;
  x->compared += n;
  return n;
}

/* Where event i of a window is in the sequence of its rank. Operations of the head are the last of
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
    if (x->past[0][--at] != STEP) record--;
  return at;
}

/* The reverse: the event at a place in the sequence, or -1: it is before the window. */
static int32_t event_at(const explain *x, int32_t rank, int64_t at, int64_t head)
{
  const track *t = &x->track[rank];
  for (int32_t i = 0; i < t->n; i++)
    if (t->event[i].kind == EVENT_OP && index_of(x, rank, i, head) == at) return i;
  return -1;
}

/* ---- How well an edit agrees with it --------------------------------------------------------- */

enum { AHEAD = 24, CONTEXT = 64, BACK = 16, OTHERS = 8, EVIDENCE = 16 };

/* Symbols that are computed and compared at most, for all edits together. */
enum { COMPARED = 1 << 28 };

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
static int64_t same_situation(explain *x, const uint64_t *in, int64_t end, const uint64_t *of,
                              int64_t at, uint64_t mask)
{
  const int64_t most = at < CONTEXT ? at : CONTEXT;
  int64_t best = -1, length = 0;
  for (int64_t i = end; i-- > 1 && length < most;) {
    int64_t k = 0;
    while (k < i && k < most && ((in[i - 1 - k] ^ of[at - 1 - k]) & mask) == 0) k++;
    x->compared += k + 1;
    if (k > length) {
      length = k;
      best = i;
    }
  }
  return best;
}

typedef struct change { /* an edit of the sequence of n symbols of a rank, at `at` */
  const edit *e;
  const uint64_t *past;
  int64_t n, at, moved;
} change;

/* The next symbols from `at` on, after the edit. */
static int64_t edited(const explain *x, const change *c, uint64_t *out)
{
  const edit *e = c->e;
  int64_t k = 0, i = c->at;
  if (e->kind == EDIT_LATER || e->kind == EDIT_LATER_ALL) {
    for (i = c->at + 1; i < c->n && k < AHEAD; i++) {
      out[k++] = c->past[i];
      if (i == c->moved) out[k++] = c->past[c->at];
    }
    return k;
  }
  if (e->kind != EDIT_REMOVE) out[k++] = event_symbol(x, &e->what);
  if (e->kind == EDIT_REMOVE || e->kind == EDIT_REPLACE || e->kind == EDIT_REPLACE_ALL) i++;
  for (; i < c->n && k < AHEAD; i++)
    if (i != c->moved) out[k++] = c->past[i];
  return k;
}

/* How much better the sequence agrees, after the edit, with another one up to `end`, which may be
 * its own past. */
static int32_t gain(explain *x, const change *c, const uint64_t *in, int64_t end, uint64_t mask)
{
  uint64_t after[AHEAD + 1];
  const int64_t like = same_situation(x, in, end, c->past, c->at, mask);
  if (like < 0) return 0;
  const int64_t n_after = edited(x, c, after), n_now = c->n - c->at < AHEAD ? c->n - c->at : AHEAD;
  return agreement(after, n_after, in + like, end - like, mask) -
         agreement(c->past + c->at, n_now, in + like, end - like, mask);
}

/* Adds to sum[k] how much better the edit k places earlier agrees with a sequence. */
static void add_gains(explain *x, change *c, int64_t places, const uint64_t *in, int64_t end,
                      uint64_t mask, int32_t factor, int32_t *sum)
{
  const int64_t at = c->at;
  for (int64_t k = 0; k < places; k++) {
    c->at = at - k;
    const int64_t until = end < 0 ? c->at : end; /* -1: its own past */
    sum[k] += factor * gain(x, c, in, until, mask);
  }
  c->at = at;
}

/* The same for the sequences of ranks beside it, which may have the same role. */
static void add_gains_of_others(explain *x, change *c, int64_t places, int32_t *support)
{
  const int32_t me = c->e->rank, from = me < OTHERS ? 0 : me - OTHERS;
  int32_t sum[BACK + 1] = {0}, n = 0;
  int64_t head;
  for (int32_t r = from; r < x->world && n < 2 * OTHERS; r++) {
    if (r == me || x->track[r].n + x->j->p[r].past_n == 0) continue;
    const int64_t length = sequence(x, r, 1, &head);
    add_gains(x, c, places, x->past[1], length, UINT32_MAX, 1, sum);
    n++;
  }
  for (int64_t k = 0; k < places && n > 0; k++) support[k] += 4 * sum[k] / n;
}

/* Whether a rank did not end early, but entered fewer operations: a rank that waits for it, or most
 * ranks, have an end mark, too. */
static int end_is_normal(const explain *x, const edit *e)
{
  const team *t = &x->team[x->match[e->match].team];
  int32_t marks = 0;
  if (x->track[e->rank].ending != END_NORMAL) return 0;
  for (int32_t r = 0; r < x->world; r++) marks += x->track[r].mark;
  if (2 * marks > x->world) return 1;
  for (int32_t q = 0; q < t->size; q++)
    if (t->rank[q] >= 0 && zp_explain_entered(x, e->match, q) && x->track[t->rank[q]].mark)
      return 1;
  return 0;
}

/* Whether a rank entered an operation earlier, with the same arguments at the same call site. */
static int is_familiar(const explain *x, int32_t rank, const event *e, int32_t at)
{
  const player *p = &x->j->p[rank];
  const track *t = &x->track[rank];
  const uint64_t symbol = event_symbol(x, e);
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  for (int32_t i = t->head; i < at; i++)
    if (t->event[i].site == e->site && event_symbol(x, &t->event[i]) == symbol) return 1;
  /* of the head of the window, which is also the end of the past, only what precedes the event */
  int64_t later = at < t->head ? p->reader.records - e->at.record : 0;
  for (int64_t i = p->past_n; i-- > p->past_n - kept;) {
    const int32_t link = p->past[i & (p->past_cap - 1)];
    if (link <= ZP_TRACE_PAST_STEP || later-- > 0 || past_symbol(x, p, link) != symbol) continue;
    if (strcmp(zp_trace_text(&p->reader, &p->reader.sites, p->known[link].site), e->site) == 0)
      return 1;
  }
  return 0;
}

/* Whether a rank that entered other arguments than the rest was at another line of the program,
 * where it enters these arguments as before. It made another call than the rest, and no wrong one.
 */
static int is_another_call(const explain *x, const edit *e)
{
  const event *mine = &x->track[e->rank].event[e->at];
  const team *t = &x->team[x->match[e->match].team];
  int32_t differ = 0;
  if (mine->site == NULL || mine->site[0] == 0) return 0;
  for (int32_t q = 0; q < t->size && differ < OTHERS; q++) {
    const int32_t r = t->rank[q];
    if (r < 0 || r == e->rank || !zp_explain_entered(x, e->match, q)) continue;
    const int32_t i = zp_explain_event_in(x, r, e->match);
    if (i < 0 || !zp_trace_same(&x->track[r].event[i].sig, &e->what.sig)) continue;
    const char *site = x->track[r].event[i].site;
    if (site == NULL || site[0] == 0 || strcmp(site, mine->site) == 0) return 0;
    differ++;
  }
  return differ > 0 && is_familiar(x, e->rank, mine, e->at);
}

/* The same for a rank's own past if an operation was skipped, or was extra, at e->spot, and
 * operations at different lines are different ones. */
static void add_gains_by_line(explain *x, change *c, int64_t places, int32_t *support)
{
  int64_t head;
  if (c->e->spot.back == 0 || c->e->what.site == NULL) return;
  x->by_line = 1;
  (void)sequence(x, c->e->rank, 0, &head);
  add_gains(x, c, places, x->past[0], -1, (uint64_t)UINT32_MAX << 32, 4, support);
  x->by_line = 0;
  (void)sequence(x, c->e->rank, 0, &head);
}

/* Whether element i of the sequence of a rank, whose window begins at `head`, is another operation
 * of the group of what the rank skipped. */
static int is_other_of_team(const explain *x, const edit *skip, int64_t i, int64_t head)
{
  const player *p = &x->j->p[skip->rank];
  const track *t = &x->track[skip->rank];
  const event *what = &skip->what;
  if (i < head) {
    const int32_t link = p->past[(p->past_n - (head - i)) & (p->past_cap - 1)];
    return link >= 0 && p->link[link].g != NULL && p->link[link].g == x->team[what->team].known &&
           !zp_trace_same(&p->known[link].sig, &what->sig);
  }
  for (int32_t k = t->head; k < t->n; k++) {
    const event *e = &t->event[k];
    if ((e->kind == EVENT_OP || e->kind == EVENT_STEP) && i-- == head)
      return e->kind == EVENT_OP && e->team == what->team && !zp_trace_same(&e->sig, &what->sig);
  }
  return 0;
}

/* By how many places before element `at` an operation can have been skipped, at most `most`: not
 * before one of its group that is not equal, since the group's other members entered it after that
 * one. */
static int64_t room_before(const explain *x, const edit *e, int64_t at, int64_t head, int64_t most)
{
  const player *p = &x->j->p[e->rank];
  const int64_t first = p->past_n <= p->past_cap; /* after START */
  int64_t n = 0;
  while (n < most && at - n > first && !is_other_of_team(x, e, at - n - 1, head)) n++;
  return n;
}

int32_t zp_explain_support(explain *x, edit *e)
{
  const int32_t other_call =
      (e->kind == EDIT_REPLACE || e->kind == EDIT_REPLACE_ALL) && is_another_call(x, e) ? 64 : 0;
  const uint64_t own = (uint64_t)UINT32_MAX << 32;
  const int32_t evidence = e->spot.gain < EVIDENCE ? e->spot.gain : EVIDENCE;
  int64_t head, back = e->kind == EDIT_INSERT ? BACK : 0;
  e->before = e->at;
  if (e->kind == EDIT_END) return end_is_normal(x, e) ? -16 : 32;
  if (x->compared > COMPARED) return 16 * evidence - other_call;
  change c = {.e = e, .n = sequence(x, e->rank, 0, &head), .moved = -1};
  c.past = x->past[0];
  c.at = index_of(x, e->rank, e->at, head);
  if (e->kind >= EDIT_ORDER && e->kind <= EDIT_LATER_ALL)
    c.moved = index_of(x, e->rank, e->from, head);
  if (e->spot.back > 0) {
    c.at = e->spot.order;
    if (back > e->spot.room) back = e->spot.room;
  } else back = room_before(x, e, c.at, head, back);
  /* an operation may have been skipped before others that are asynchronous */
  const int64_t places = back < c.at ? back + 1 : c.at;
  int32_t support[BACK + 1] = {0};
  int64_t best = 0;
  add_gains(x, &c, places, c.past, -1, own, 8, support);
  add_gains_of_others(x, &c, places, support);
  add_gains_by_line(x, &c, places, support);
  for (int64_t k = 1; k < places; k++)
    if (support[k] > support[best]) best = k;
  if (best > 0) e->before = event_at(x, e->rank, c.at - best, head);
  return support[best] - other_call + 16 * evidence;
}
