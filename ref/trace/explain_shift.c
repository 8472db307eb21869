/* A skipped or an extra operation among equal ones. The arguments of the operations match until
 * the equal ones end, so an edit comes there. From the deviation on, each operation of the rank has
 * the call site and the step of the next one (extra: the previous one) of the other members, which
 * shows where the rank deviated. conformance/TRACE.md */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "explain.h"

/* Other members that a rank is compared with; operations that it may lack. */
enum { PEERS = 3, SHIFTS = 12 };

/* A step that agrees, in lines that agree. Ranks keep fewer operations than half of it. */
enum { STEP = 1 << 14 };

/* ---- The operations of a rank in a team ------------------------------------------------------ */

static zp_explain_call *append(explain *x, zp_explain_calls *l)
{
  if (l->n == l->cap) {
    const int64_t n = l->cap ? 2 * l->cap : 64;
    l->at = zp_trace_grow(&x->j->failure, l->at, (size_t)l->cap, (size_t)n, sizeof *l->at);
    l->cap = n;
  }
  zp_explain_call *c = &l->at[l->n++];
  *c = (zp_explain_call){.step = -1};
  return c;
}

static const char *known(const char *text)
{
  return text != NULL && text[0] != 0 ? text : NULL;
}

uint64_t zp_explain_line(const char *site)
{
  return known(site) == NULL ? 0 : XXH3_64bits(site, strlen(site)) | 1;
}

static void add_past(explain *x, const player *p, const group *g, zp_explain_calls *l)
{
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  const int64_t from = p->past_n - kept;
  int64_t record = p->reader.records, step = -1;
  for (int64_t i = from; i < p->past_n; i++) record -= p->past[i & (p->past_cap - 1)] >= 0;
  for (int64_t i = from; i < p->past_n; i++) {
    const int32_t link = p->past[i & (p->past_cap - 1)];
    if (link < 0) {
      step = zp_trace_past_step(link);
      continue;
    }
    const zp_trace_def *d = &p->known[link];
    if (p->link[link].g == g && !(d->sig.flags & ZP_TRACE_ANY)) {
      zp_explain_call *c = append(x, l);
      *c = (zp_explain_call){.sig = d->sig, .record = record, .step = step};
      c->site = known(zp_trace_text(&p->reader, &p->reader.sites, d->site));
      c->phase = known(zp_trace_text(&p->reader, &p->reader.phases, d->phase));
      c->line = zp_explain_line(c->site);
      c->order = i - from + (kept == p->past_n);
    }
    record++;
  }
}

/* Lists what a rank entered at a place of a team: in its past, and in its window. */
static void list_calls(explain *x, int32_t rank, int32_t at, int32_t place, zp_explain_calls *l)
{
  const team *g = &x->team[at];
  const player *p = &x->j->p[rank];
  const track *t = &x->track[rank];
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  int64_t order = kept + (kept == p->past_n);
  l->n = l->first = 0;
  if (g->known != NULL) {
    add_past(x, p, g->known, l);
    l->first = g->known->pos[place] - l->n;
  }
  l->past = l->n;
  for (int32_t i = t->head; i < t->n; i++) {
    const event *e = &t->event[i];
    if (e->kind == EVENT_OP && e->team == at) {
      zp_explain_call *c = append(x, l);
      *c = (zp_explain_call){.sig = e->sig,
                             .record = e->at.record,
                             .step = e->at.step,
                             .site = e->site,
                             .phase = e->phase,
                             .order = order};
      c->line = zp_explain_line(c->site);
    }
    order += e->kind == EVENT_OP || e->kind == EVENT_STEP;
  }
}

/* The number of the operation in its team before which event `at` of a track is. */
static int64_t number_of(const track *t, int32_t at, int32_t team, const zp_explain_calls *l)
{
  int64_t head = 0, before = 0;
  for (int32_t i = 0; i < t->n; i++) {
    if (t->event[i].kind != EVENT_OP || t->event[i].team != team) continue;
    head += i < t->head;
    before += i < at;
  }
  return l->first + l->past - head + before;
}

/* ---- Where the shift begins ------------------------------------------------------------------ */

static const zp_explain_call *nth(const zp_explain_calls *l, int64_t i)
{
  return &l->at[i - l->first];
}

/* How far two operations agree in line and step. One step outweighs all lines, which may differ
 * between ranks anyway. The ends of a pair have lines of their own. */
static int32_t likeness(const zp_explain_call *a, const zp_explain_call *b, int pair)
{
  return STEP * (a->step >= 0 && a->step == b->step) +
         (!pair && a->line != 0 && a->line == b->line);
}

/* How many steps and lines a difference of two sums of likenesses is. */
static int32_t agreeing(int32_t likeness)
{
  const int32_t steps = (likeness + STEP / 2) / STEP, lines = likeness - steps * STEP;
  return steps + (lines > 0 ? lines : 0);
}

/* Whether both are known to be at the same line in the same step. */
static int same_moment(const zp_explain_call *a, const zp_explain_call *b)
{
  return a->step >= 0 && a->step == b->step && a->line != 0 && a->line == b->line;
}

typedef struct range { /* operations from … to of `more` are equal, and one of them is not in `less`
                        */
  const zp_explain_calls *less, *more;
  int64_t from, to, end; /* those before `end` are equal, too */
  int pair, cut;         /* cut: there may be equal ones before `from` */
} range;

/* Finds the operations that are equal to number `to` of `more`. Returns 0 if that is not known. */
static int find_range(range *r)
{
  const zp_explain_calls *less = r->less, *more = r->more;
  const int64_t end = more->first + more->n;
  const int64_t first = less->first > more->first ? less->first : more->first;
  if (r->to < first || r->to >= end || r->to > less->first + less->n) return 0;
  const zp_trace_sig *sig = &nth(more, r->to)->sig;
  for (r->from = r->to; r->from > first; r->from--)
    if (!zp_trace_same(&nth(more, r->from - 1)->sig, sig)) break;
  r->end = r->to + 1;
  while (r->end < end && zp_trace_same(&nth(more, r->end)->sig, sig)) r->end++;
  r->cut = r->from == first && first > 0;
  return 1;
}

/* The best likeness of the rest of `less`, from each operation on, if the first one that it lacks
 * comes right before it: score[i - from]. */
static void score_shifts(const range *r, int32_t *score)
{
  int32_t rest[SHIFTS + 1] = {0}; /* [d]: of what follows, after d that `less` lacks */
  const int32_t one = nth(r->more, r->to)->step >= 0 ? STEP : 1;
  score[r->to - r->from] = 0;
  for (int64_t i = r->to; i-- > r->from;) {
    int32_t best = INT32_MIN / 2;
    for (int64_t d = SHIFTS; d >= 1; d--) {
      /* each further one that it lacks takes more than one line or step that agrees */
      const int32_t here =
          rest[d] + (i + d < r->end ? likeness(nth(r->less, i), nth(r->more, i + d), r->pair) : 0);
      best = here > best - one ? here : best - one;
      rest[d] = best;
    }
    score[i - r->from] = best;
  }
}

/* The operation that `less` lacks: the one with which lines and steps agree best, else the last. */
static spot find_spot(explain *x, const range *r)
{
  const int64_t n = r->to - r->from + 1;
  if (n > x->scores) {
    x->score =
        zp_trace_grow(&x->j->failure, x->score, (size_t)x->scores, (size_t)n, sizeof *x->score);
    x->scores = n;
  }
  score_shifts(r, x->score);
  int32_t before = 0, best = INT32_MIN;
  int64_t at = r->to;
  for (int64_t i = r->from; i <= r->to; i++) {
    const int32_t all = x->score[i - r->from] += before;
    if (all >= best) best = all, at = i;
    if (i < r->to) before += likeness(nth(r->less, i), nth(r->more, i), r->pair);
  }
  const zp_explain_call *c = nth(r->more, at);
  spot s = {.known = 1,
            .number = at,
            .back = r->to - at,
            .gain = agreeing(best - x->score[n - 1]),
            .site = c->site,
            .phase = c->phase,
            .step = c->step};
  for (int64_t i = r->from; i <= r->to; i++) {
    if (x->score[i - r->from] != best) continue;
    s.ties++;
    s.open |= i != at && !same_moment(nth(r->more, i), c);
    s.earlier |= i == r->from && r->cut;
  }
  s.open |= s.earlier;
  return s;
}

/* ---- Edits ----------------------------------------------------------------------------------- */

static int is_edited(const explain *x, int32_t rank)
{
  for (int32_t i = 0; i < x->edited; i++)
    if (x->saved_rank[i] == rank) return 1;
  return 0;
}

static int has_rank(const option *o, int32_t rank)
{
  for (int32_t i = 0; i < o->n; i++)
    if (o->edit[i].rank == rank) return 1;
  return 0;
}

/* Sets what is known of the operations of the rank itself. */
static void note_own(edit *e, const zp_explain_calls *mine)
{
  spot *s = &e->spot;
  const int64_t i = s->number - mine->first;
  s->record = -1;
  if (i < mine->n) {
    s->record = mine->at[i].record;
    s->order = mine->at[i].order;
    s->next_site = mine->at[i].site;
    s->next_step = mine->at[i].step;
  }
  s->room = i > 0 && i < mine->n ? mine->at[i].order - mine->at[i - 1].order - 1 : 0;
}

/* The ends of a pair have lines of their own: the line of a skipped one is that of the rank's equal
 * operation after it, or before. */
static const char *own_site(const edit *e, const zp_explain_calls *mine)
{
  const int64_t at = e->spot.number - mine->first;
  for (int64_t i = at; i >= 0 && i >= at - 1; i--)
    if (i < mine->n && zp_trace_same(&mine->at[i].sig, &e->what.sig)) return mine->at[i].site;
  return NULL;
}

static void locate(explain *x, const option *o, edit *e)
{
  const int skips = e->kind == EDIT_INSERT;
  const team *t = &x->team[e->what.team];
  zp_explain_calls *mine = &x->calls[0], *theirs = &x->calls[1];
  e->spot = (spot){.ties = 1};
  if ((!skips && e->kind != EDIT_REMOVE) || t->loose || is_edited(x, e->rank)) return;
  list_calls(x, e->rank, e->what.team, e->what.place, mine);
  const int64_t to = number_of(&x->track[e->rank], e->at, e->what.team, mine);
  for (int32_t q = 0, peers = 0; q < t->size && peers < PEERS; q++) {
    const int32_t r = t->rank[q];
    if (r < 0 || has_rank(o, r) || is_edited(x, r)) continue;
    if (skips && !zp_explain_entered(x, e->match, q)) continue;
    list_calls(x, r, e->what.team, q, theirs);
    range all = {.less = skips ? mine : theirs,
                 .more = skips ? theirs : mine,
                 .to = to,
                 .pair = t->parent >= 0};
    if (!find_range(&all)) continue;
    const spot s = find_spot(x, &all);
    if (peers++ == 0 || s.gain > e->spot.gain) e->spot = s;
  }
  if (e->spot.known) note_own(e, mine);
  if (e->spot.known && skips && t->parent >= 0) e->spot.site = own_site(e, mine);
  if (e->spot.known && skips) e->what.site = e->spot.site;
}

void zp_explain_locate(explain *x, option *o)
{
  for (int32_t i = 0; i < o->n; i++) locate(x, o, &o->edit[i]);
}
