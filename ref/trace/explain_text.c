/* The sentences of causes. conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"

enum { TEXT = 2048, OP = 160, SOME = 8 };

typedef struct text {
  char s[TEXT];
  size_t n;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(t->s + t->n, TEXT - t->n, format, args);
  va_end(args);
  if (n > 0) t->n = t->n + (size_t)n < TEXT ? t->n + (size_t)n : TEXT - 1;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* "0–3, 6": sorts the ranks. */
static void put_ranks(text *t, int32_t *rank, int32_t n)
{
  char runs[ZP_TRACE_RUNS];
  if (n > 1) qsort(rank, (size_t)n, sizeof *rank, ascending);
  put(t, "%s", zp_trace_runs(rank, n, runs));
}

/* "rank 2", "ranks 0–3, 6" */
static void put_who(text *t, int32_t *rank, int32_t n)
{
  put(t, n == 1 ? "rank " : "ranks ");
  put_ranks(t, rank, n);
}

static void put_op(text *t, const zp_trace_sig *s)
{
  char op[OP];
  zp_trace_describe(s, op, sizeof op);
  put(t, "%s", op);
}

/* All ranks of a team, from memory that lasts. */
static int32_t *ranks_of(explain *x, const team *t, int32_t *n)
{
  int32_t *rank = zp_explain_take(x, (size_t)t->size * sizeof *rank + 1);
  *n = 0;
  for (int32_t q = 0; q < t->size; q++)
    if (t->rank[q] >= 0) rank[(*n)++] = t->rank[q];
  return rank;
}

static const char *name_of(const explain *x, int32_t at)
{
  const team *t = &x->team[at];
  if (t->parent >= 0) t = &x->team[t->parent];
  return t->label != NULL ? t->label : t->key != NULL ? t->key : "?";
}

/* " in 'default_pg' {0–3}" */
static void put_team(explain *x, text *t, int32_t at)
{
  int32_t n, *rank = ranks_of(x, &x->team[at], &n);
  put(t, " in '%s' {", name_of(x, at));
  put_ranks(t, rank, n);
  put(t, "}");
}

/* "all_reduce sum of 4 fp32 (train.py:15) in 'default_pg' {0–3}" */
static void put_event(explain *x, text *t, const event *e, const char *site)
{
  const team *g = &x->team[e->team];
  zp_trace_sig sig = e->sig;
  if (g->parent >= 0) sig.root = -1;
  put_op(t, &sig);
  if (g->parent >= 0) put(t, e->place ? " from rank %d" : " to rank %d", (int)g->rank[!e->place]);
  if (site != NULL) put(t, " (%.*s)", (int)strcspn(site, ";"), site);
  if (g->parent >= 0) put(t, " in '%s'", name_of(x, e->team));
  else put_team(x, t, e->team);
}

/* ---- The ranks on the other side ------------------------------------------------------------- */

/* The members of a match that have entered it, or have not, without those of the option. */
static int32_t *others(explain *x, const option *o, int entered, int32_t *n)
{
  const int32_t m = o->edit->match;
  const team *t = &x->team[x->match[m].team];
  int32_t *rank = zp_explain_take(x, (size_t)t->size * sizeof *rank + 1);
  *n = 0;
  for (int32_t q = 0; q < t->size; q++) {
    int mine = t->rank[q] < 0;
    for (int32_t i = 0; i < o->n; i++) mine |= o->edit[i].rank == t->rank[q];
    if (!mine && zp_explain_entered(x, m, q) == entered) rank[(*n)++] = t->rank[q];
  }
  return rank;
}

/* The event with which another member, *by, entered the match of an option, or NULL. */
static const event *entry_of(explain *x, const option *o, int32_t *by)
{
  int32_t n, *rank = others(x, o, 1, &n);
  for (int32_t i = 0; i < n && i < SOME; i++) {
    const int32_t at = zp_explain_event_in(x, rank[i], o->edit->match);
    if (at < 0) continue;
    const event *e = &x->track[rank[i]].event[at];
    *by = rank[i];
    if (n == 1 || e->sig.op >= ZP_TRACE_SEND || zp_trace_same(&e->sig, &o->edit->what.sig) ||
        o->edit->kind == EDIT_END)
      return e;
  }
  return NULL;
}

static void put_waiting(explain *x, text *t, const option *o)
{
  int32_t n, *rank = others(x, o, 1, &n);
  if (n == 0) return;
  put(t, "; ");
  put_who(t, rank, n);
  if (zp_explain_complete(x, o->edit->match)) put(t, " entered it");
  else put(t, n == 1 ? " is waiting for it" : " are waiting for it");
}

static const char *field_of(const edit *e)
{
  const zp_trace_sig *a = &e->was, *b = &e->what.sig;
  if (a->op != b->op && a->op < ZP_TRACE_SEND) return "op";
  if (a->count != b->count && a->count >= 0 && b->count >= 0) return "count";
  if (a->dtype != b->dtype && a->dtype != 0 && b->dtype != 0) return "dtype";
  if (a->root != b->root && a->root >= 0 && b->root >= 0) return "root";
  return "reduction";
}

/* " at its record 3" */
static void put_record(text *t, const option *o)
{
  const int64_t record = o->edit->what.at.record;
  if (o->n == 1 && record >= 0) put(t, " at its record %" PRId64, record);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

/* " (or an earlier one of 10 equal operations)", " (rank 1; the others deviated elsewhere)" */
static void put_others(text *t, const option *o)
{
  const spot *s = &o->edit->spot;
  int elsewhere = 0;
  for (int32_t i = 1; i < o->n; i++) elsewhere |= o->edit[i].spot.number != s->number;
  if (elsewhere) put(t, " (rank %d; the others deviated elsewhere)", (int)o->edit->rank);
  if (!s->open) return;
  put(t, " (or an earlier one");
  if (s->ties > 1) put(t, " of %s%d equal operations", s->earlier ? "at least " : "", (int)s->ties);
  put(t, ")");
}

/* "; 3 equal operations later, ranks 0, 1" */
static void put_later(text *t, const spot *s, int32_t *rank, int32_t n)
{
  put(t, "; %" PRId64 " equal operation%s later, ", s->back, s->back == 1 ? "" : "s");
  put_who(t, rank, n);
}

/* The rest of the sentence about a skip after which equal operations followed. */
static void say_skipped_earlier(explain *x, text *t, const option *o)
{
  const spot *s = &o->edit->spot;
  int32_t n, *rank = others(x, o, 1, &n);
  put(t, " and entered the next equal one");
  if (s->next_step >= 0 && s->next_step != s->step) put(t, " of step %" PRId64, s->next_step);
  if (s->next_site != NULL) put(t, " (%.*s)", (int)strcspn(s->next_site, ";"), s->next_site);
  if (o->n == 1 && s->record >= 0) put(t, " at its record %" PRId64, s->record);
  if (n == 0) return;
  put_later(t, s, rank, n);
  if (zp_explain_complete(x, o->edit->match)) put(t, " entered one more");
  else put(t, n == 1 ? " is waiting for one more" : " are waiting for one more");
}

static void say_insert(explain *x, text *t, const option *o, const event *theirs)
{
  const edit *e = o->edit;
  const track *mine = &x->track[e->rank];
  put(t, " skipped ");
  put_event(x, t, &e->what, e->spot.known ? e->spot.site : theirs ? theirs->site : NULL);
  put_others(t, o);
  if (e->spot.back > 0) {
    say_skipped_earlier(x, t, o);
    return;
  }
  int32_t i = e->before;
  if (i >= 0 && i < mine->n && mine->event[i].kind == EVENT_WAIT) i = mine->event[i].of;
  while (i >= 0 && i < mine->n && mine->event[i].kind != EVENT_OP) i++;
  if (o->n == 1 && i >= 0 && i < mine->n) {
    put(t, " and entered ");
    put_event(x, t, &mine->event[i], mine->event[i].site);
  }
  put_waiting(x, t, o);
}

static void say_remove(explain *x, text *t, const option *o)
{
  const edit *e = o->edit;
  const spot *s = &e->spot;
  const int complete = zp_explain_complete(x, e->match);
  int32_t n, *rank = others(x, o, complete, &n);
  put(t, " entered an extra ");
  put_event(x, t, &e->what, s->known ? s->site : e->what.site);
  put_others(t, o);
  if (s->back == 0) put_record(t, o);
  else if (o->n == 1 && s->record >= 0) put(t, " at its record %" PRId64, s->record);
  if (n == 0) return;
  if (s->back > 0) put_later(t, s, rank, n);
  else {
    put(t, "; ");
    put_who(t, rank, n);
  }
  const char *one = s->back > 0 ? "another one" : "it";
  if (complete) put(t, " entered something else");
  else put(t, n == 1 ? " does not enter %s" : " do not enter %s", one);
}

/* Removes the ranks that did not enter the operation of an event in its match either. */
static int32_t like(explain *x, const edit *e, int32_t *rank, int32_t n)
{
  int32_t kept = 0;
  for (int32_t i = 0; i < n; i++) {
    const int32_t at = zp_explain_event_in(x, rank[i], e->match);
    if (at < 0 || zp_trace_same(&x->track[rank[i]].event[at].sig, &e->what.sig))
      rank[kept++] = rank[i];
  }
  return kept;
}

static void say_replace(explain *x, text *t, const option *o, const event *theirs)
{
  const edit *e = o->edit;
  event was = e->what;
  int32_t n, *rank = others(x, o, 1, &n);
  n = like(x, e, rank, n);
  was.sig = e->was;
  put(t, " entered ");
  put_event(x, t, &was, e->what.site);
  put_record(t, o);
  put(t, ", with another %s than ", field_of(e));
  put_who(t, rank, n);
  put(t, ", which entered ");
  zp_trace_sig sig = theirs != NULL ? theirs->sig : e->what.sig;
  if (sig.op >= ZP_TRACE_SEND) sig.root = -1;
  put_op(t, &sig);
  if (theirs != NULL && theirs->site != NULL)
    put(t, " (%.*s)", (int)strcspn(theirs->site, ";"), theirs->site);
}

static void say_order(explain *x, text *t, const option *o)
{
  const edit *e = o->edit;
  const track *mine = &x->track[e->rank];
  int32_t i = e->at;
  if (mine->event[i].kind == EVENT_WAIT) i = mine->event[i].of;
  while (i >= 0 && i < mine->n && mine->event[i].kind != EVENT_OP) i++;
  put(t, " entered ");
  if (i >= 0 && i < mine->n) put_event(x, t, &mine->event[i], mine->event[i].site);
  put(t, " before ");
  put_event(x, t, &e->what, e->what.site);
  put(t, ", in another order than the other members");
}

/* Whether a rank that waits in a match for an ended one goes on after it in its trace. */
static int passed(const explain *x, const option *o, int32_t *rank, int32_t n)
{
  for (int32_t i = 0; i < n; i++) {
    const track *t = &x->track[rank[i]];
    for (int32_t k = t->pc + 1; t->state == TRACK_WAITS && k < t->n; k++)
      if (t->event[k].kind == EVENT_OP && !t->event[k].async) return 1;
    if (t->ending == END_NORMAL) return 1;
  }
  return o->edit->match < 0;
}

static const char *say_end(explain *x, text *t, const option *o, const event *theirs)
{
  const edit *e = o->edit;
  const track *mine = &x->track[e->rank];
  int64_t records = x->j->p[e->rank].reader.records;
  int32_t n, *rank = others(x, o, 1, &n);
  const int many = o->n > 1;
  const char *has = many ? "have traces that are" : "has a trace that is";
  const char *stops = many ? "have traces that stop" : "has a trace that stops";
  const char *kind = "hang";
  for (int32_t i = 0; i < mine->n; i++)
    if (mine->event[i].at.record >= records) records = mine->event[i].at.record + 1;
  if (mine->ending == END_NORMAL || mine->ending == END_EXIT) {
    kind = "exit";
    put(t, " ended");
    if (mine->ending == END_EXIT) {
      char how[ZP_TRACE_EXIT_TEXT];
      put(t, " with %s,", zp_trace_exit_text(&mine->exit, how, sizeof how));
    }
    put(t, " after %" PRId64 " record%s", records, records == 1 ? "" : "s");
  } else if (mine->ending == END_DAMAGED) {
    kind = "damaged";
    put(t, " %s damaged after %" PRId64 " record%s", has, records, records == 1 ? "" : "s");
  } else if (passed(x, o, rank, n)) {
    kind = "truncated";
    put(t, " %s after %" PRId64 " record%s", stops, records, records == 1 ? "" : "s");
  } else
    put(t, " stopped in %s own code after %" PRId64 " record%s", many ? "their" : "its", records,
        records == 1 ? "" : "s");
  if (theirs == NULL || n == 0) return kind;
  put(t, "; ");
  put_who(t, rank, n);
  put(t, " %s for %s in ", n == 1 ? "waits" : "wait", many ? "them" : "it");
  put_event(x, t, theirs, theirs->site);
  return kind;
}

/* Writes the sentence of an option; returns its kind. */
static const char *say(explain *x, text *t, const option *o, const event *theirs)
{
  int32_t *rank = zp_explain_take(x, (size_t)o->n * sizeof *rank);
  for (int32_t i = 0; i < o->n; i++) rank[i] = o->edit[i].rank;
  put_who(t, rank, o->n);
  switch (o->edit->kind) {
  case EDIT_INSERT: say_insert(x, t, o, theirs); return "skip";
  case EDIT_REMOVE: say_remove(x, t, o); return "extra";
  case EDIT_ORDER:
  case EDIT_ORDER_ALL:
  case EDIT_LATER:
  case EDIT_LATER_ALL: say_order(x, t, o); return "order";
  case EDIT_END: return say_end(x, t, o, theirs);
  default: say_replace(x, t, o, theirs); return field_of(o->edit);
  }
}

/* ---- Causes ---------------------------------------------------------------------------------- */

static char *copy(judge *j, const char *s)
{
  char *p = zp_trace_grow(&j->failure, NULL, 0, strlen(s) + 1, 1);
  strcpy(p, s);
  return p;
}

/* A new cause at the end of the list. */
static zp_trace_cause *add_cause(judge *j, const char *kind, int32_t number)
{
  zp_trace_verdict *v = j->verdict;
  if (v->causes == v->causes_cap) {
    const int32_t n = v->causes_cap ? 2 * v->causes_cap : 4;
    v->cause =
        zp_trace_grow(&j->failure, v->cause, (size_t)v->causes_cap, (size_t)n, sizeof *v->cause);
    v->causes_cap = n;
  }
  zp_trace_cause *c = &v->cause[v->causes++];
  *c = (zp_trace_cause){.kind = kind, .cause = number, .record = -1, .step = -1};
  c->waiting = -1;
  c->waiting_record = -1;
  return c;
}

/* Sets where the cause is. of: the operation that shows it, or NULL. */
static void set_moment(judge *j, zp_trace_cause *c, const edit *e, const event *of)
{
  const spot *s = &e->spot;
  const char *site = s->known ? s->site : of != NULL ? of->site : NULL;
  const char *phase = s->known ? s->phase : of != NULL ? of->phase : NULL;
  if (site != NULL) c->site = copy(j, site);
  if (phase != NULL) c->phase = copy(j, phase);
  c->step = s->known ? s->step : of != NULL ? of->at.step : -1;
}

/* Whether a match lacks all ranks of an option. */
static int lacks_all(const explain *x, int32_t m, const option *o)
{
  const team *t = &x->team[x->match[m].team];
  int32_t n = 0;
  for (int32_t q = 0; q < t->size; q++)
    for (int32_t i = 0; i < o->n && !zp_explain_entered(x, m, q); i++)
      n += t->rank[q] == o->edit[i].rank;
  return n == o->n;
}

/* The first operation of a rank that waits for those of an option which these never entered. It may
 * be asynchronous, and precede the one that blocks. */
static int32_t first_lacking(explain *x, const option *o)
{
  int32_t n, *rank = others(x, o, 1, &n);
  const track *t = n > 0 ? &x->track[rank[0]] : NULL;
  for (int32_t i = 0; t != NULL && i < t->n; i++)
    if (t->event[i].kind == EVENT_OP && t->match[i] > 0 && lacks_all(x, t->match[i] - 1, o))
      return t->match[i] - 1;
  return o->edit->match;
}

/* The cause that an option is, in the windows as they are. */
static void report(explain *x, const option *o, int32_t number, int32_t equally, int32_t more,
                   int32_t likeliest)
{
  judge *j = x->j;
  const edit *e = o->edit;
  if (e->kind == EDIT_END) o->edit->match = first_lacking(x, o);
  text *t = zp_explain_take(x, sizeof *t), *op = zp_explain_take(x, sizeof *op);
  int32_t by = -1;
  const event *theirs = entry_of(x, o, &by), *shown = e->kind == EDIT_END ? theirs : &e->what;
  const char *kind = say(x, t, o, theirs);
  if (more > 0) put(t, " (and %d more deviation%s)", (int)more, more > 1 ? "s" : "");
  zp_trace_cause *c = add_cause(j, kind, number);
  c->equally_likely = equally;
  c->likeliest = likeliest;
  c->text = copy(j, t->s);
  c->ranks = zp_trace_grow(&j->failure, NULL, 0, (size_t)o->n, sizeof *c->ranks);
  for (int32_t i = 0; i < o->n; i++) c->ranks[c->n_ranks++] = o->edit[i].rank;
  if (o->n > 1) qsort(c->ranks, (size_t)o->n, sizeof *c->ranks, ascending);
  const track *mine = &x->track[e->rank];
  for (int32_t i = 0; i < mine->n && i <= e->at; i++)
    if (mine->event[i].at.record >= 0) c->record = mine->event[i].at.record;
  if (e->spot.back > 0) c->record = e->spot.record;
  if (theirs != NULL && theirs->at.record >= 0) {
    c->waiting = by;
    c->waiting_record = theirs->at.record;
  }
  if (shown == NULL) return;
  put_op(op, &shown->sig);
  c->op = copy(j, op->s);
  c->group = copy(j, name_of(x, shown->team));
  set_moment(j, c, e, e->kind == EDIT_INSERT || e->kind == EDIT_END ? theirs : shown);
}

/* The edits of a plan that belong to the cause of option k, besides it. */
static int32_t more_of(const plan *p, int32_t k)
{
  int32_t n = 0;
  for (int32_t i = k + 1; i < p->n; i++) n += p->option[i].edit->rank == p->option[k].edit->rank;
  return n;
}

/* Whether a plan edits all ranks of an option. */
static int has_ranks(const plan *p, const option *o)
{
  int32_t n = 0;
  for (int32_t i = 0; i < o->n; i++) {
    int has = 0;
    for (int32_t k = 0; k < p->n; k++)
      for (int32_t q = 0; q < p->option[k].n; q++)
        has |= p->option[k].edit[q].rank == o->edit[i].rank;
    n += has;
  }
  return n == o->n;
}

/* Whether option k of a plan belongs to the cause of a previous one. */
static int is_further(const plan *p, int32_t k)
{
  int seen = 0;
  for (int32_t i = 0; i < k; i++) seen |= p->option[i].edit->rank == p->option[k].edit->rank;
  return seen;
}

/* The only cause of a plan that q does not have, or -1. */
static int32_t only_in(const plan *p, const plan *q)
{
  int32_t found = -1, n = 0;
  for (int32_t k = 0; k < p->n; k++)
    if (!is_further(p, k) && !has_ranks(q, &p->option[k]) && n++ == 0) found = k;
  return n == 1 ? found : -1;
}

/* Reports option k of a plan in the windows as its previous ones left them. */
static void report_of(explain *x, const plan *p, int32_t k, int32_t number, int32_t equally,
                      int leads)
{
  zp_explain_undo(x, x->edited);
  for (int32_t i = 0; i < k; i++) zp_explain_apply(x, &p->option[i]);
  zp_explain_replay(x);
  report(x, &p->option[k], number, equally > 1 ? equally : 0, more_of(p, k), leads);
}

/* Plans that differ in one cause have it as alternatives. */
void zp_explain_report(explain *x, plan *const *plans, int32_t n)
{
  int32_t of[EXPLAIN_PLANS] = {0}, with[EXPLAIN_PLANS] = {0}, number = 0;
  for (int32_t k = 1; k < n; k++) {
    const int32_t a = only_in(plans[0], plans[k]), b = only_in(plans[k], plans[0]);
    if (a >= 0 && b >= 0) of[k] = a, with[k] = b;
  }
  for (int32_t i = 0; i < plans[0]->n; i++) {
    int32_t equally = 1, next = 0;
    if (is_further(plans[0], i)) continue;
    for (int32_t k = n - 1; k > 0; k--)
      if (of[k] == i) next = k, equally++;
    const int leads = next == 0 || plans[0]->support > plans[next]->support;
    report_of(x, plans[0], i, number, equally, leads);
    for (int32_t k = next; k > 0 && k < n; k++)
      if (of[k] == i) report_of(x, plans[k], with[k], number, equally, 0);
    number++;
  }
  zp_explain_undo(x, x->edited);
}

void zp_trace_first_cause(judge *j, const zp_trace_finding *f)
{
  zp_trace_verdict *v = j->verdict;
  zp_trace_cause *c = add_cause(j, f->kind, 0);
  c->text = copy(j, f->text);
  c->likeliest = 1;
  c->record = f->record;
  if (f->op != NULL) c->step = f->step; /* other texts have their step */
  if (f->op != NULL) c->op = copy(j, f->op);
  if (f->group != NULL) c->group = copy(j, f->group);
  if (f->site != NULL) c->site = copy(j, f->site);
  if (f->rank >= 0) {
    c->n_ranks = f->n_ranks > 0 ? f->n_ranks : 1;
    c->ranks = zp_trace_grow(&j->failure, NULL, 0, (size_t)c->n_ranks, sizeof *c->ranks);
    c->ranks[0] = f->rank;
    if (f->n_ranks > 0) memcpy(c->ranks, f->ranks, (size_t)f->n_ranks * sizeof *c->ranks);
  }
  const zp_trace_cause first = *c;
  for (int32_t i = v->causes - 1; i > 0; i--) {
    v->cause[i] = v->cause[i - 1];
    v->cause[i].cause++;
  }
  v->cause[0] = first;
}
