/* The search for causes: the fewest deviating ranks, and of those the fewest edits, that leave no
 * contradiction. conformance/TRACE.md */
#include "explain.h"

#include <stdlib.h>
#include <string.h>

/* Events that the search replays at most, for all edits together. */
enum { SPENT = 1 << 26 };

void zp_trace_explain_free(judge *j)
{
  explain *x = j->explain;
  if (x == NULL) return;
  zp_explain_undo(x, x->edited);
  zp_trace_close(&x->reader);
  while (x->block != NULL) {
    explain_block *b = x->block;
    x->block = b->next;
    free(b);
  }
  free(x->track);
  free(x->saved);
  free(x->saved_rank);
  free(x->team);
  free(x->team_of);
  free(x->pos);
  free(x->match);
  free(x->ready);
  free(x->cycle);
  free(x->low);
  free(x->index);
  free(x->stack);
  free(x->iterator);
  free(x->frame);
  free(x->on_stack);
  free(x->counted);
  free(x->option);
  free(x->past[0]);
  free(x->past[1]);
  free(x->calls[0].at);
  free(x->calls[1].at);
  free(x->score);
  free(x);
  j->explain = NULL;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static void judge_windows(explain *x)
{
  zp_explain_replay(x);
  zp_explain_judge(x);
}

static int has_rank(const plan *p, int32_t rank)
{
  for (int32_t k = 0; k < p->n; k++)
    for (int32_t i = 0; i < p->option[k].n; i++)
      if (p->option[k].edit[i].rank == rank) return 1;
  return 0;
}

/* How many ranks deviate more in a plan if an option is added to it. */
static int32_t new_ranks(const plan *p, const option *o)
{
  int32_t n = 0;
  for (int32_t i = 0; i < o->n; i++) n += !has_rank(p, o->edit[i].rank);
  return n;
}

/* Replays the windows with each option. In large runs there is only time for some of them: those
 * that explain most come first. */
static void evaluate(explain *x)
{
  static const edit_kind order[] = {EDIT_REPLACE,   EDIT_INSERT,    EDIT_END,
                                    EDIT_REMOVE,    EDIT_ORDER,     EDIT_REPLACE_ALL,
                                    EDIT_ORDER_ALL, EDIT_LATER_ALL, EDIT_LATER};
  for (int32_t i = 0; i < x->options; i++) x->option[i].left = INT32_MAX / 2;
  for (size_t k = 0; k < sizeof order / sizeof *order; k++)
    for (int32_t i = 0; i < x->options && x->spent <= SPENT; i++) {
      option *o = &x->option[i];
      if (o->edit->kind != order[k]) continue;
      zp_explain_apply(x, o);
      judge_windows(x);
      o->left = x->left;
      o->done = x->done;
      zp_explain_undo(x, o->n);
    }
}

/* Which kind of deviation is the likeliest if nothing else decides. */
static int32_t preference(const explain *x, const option *o)
{
  const edit *e = o->edit;
  switch (e->kind) {
  case EDIT_REPLACE: return e->was.op == e->what.sig.op ? 6 : 2;
  case EDIT_REPLACE_ALL: return e->was.op == e->what.sig.op ? 5 : 1;
  case EDIT_ORDER: return 4;
  case EDIT_ORDER_ALL: return 2;
  case EDIT_LATER:
  case EDIT_LATER_ALL: return 2;
  case EDIT_INSERT: return 3;
  case EDIT_END: return x->track[e->rank].ending == END_NORMAL ? 2 : 4;
  default: return 0;
  }
}

/* How likely an option is, beside its cost: above all, whether it makes the rank repeat itself;
 * then the number of members that agree with it. */
static int32_t support_of(explain *x, option *o)
{
  const team *t = &x->team[x->match[o->edit->match].team];
  int32_t sum = 0, agree = x->match[o->edit->match].entered;
  zp_explain_locate(x, o);
  for (int32_t i = 0; i < o->n; i++) {
    o->edit[i].support = zp_explain_support(x, &o->edit[i]);
    sum += o->edit[i].support;
  }
  if (o->edit->kind == EDIT_REMOVE) agree = t->members - agree;
  if (agree > 100) agree = 100;
  return sum * 1024 + agree * 8 + preference(x, o);
}

static int same_ranks(const option *a, const option *b)
{
  if (a->n != b->n) return 0;
  for (int32_t i = 0; i < a->n; i++)
    if (a->edit[i].rank != b->edit[i].rank) return 0;
  return 1;
}

/* Whether an option removes contradictions, or leads further to as many later ones. */
static int helps(const option *o, int32_t left, int64_t done)
{
  return o->left < left || (o->left == left && o->done > done);
}

/* The best next option of a plan whose edits are applied, or n 0. */
static option best_option(explain *x, const plan *p)
{
  const int32_t before = x->left;
  const int64_t done = x->done;
  option best = {0};
  int32_t least = INT32_MAX, most = 0;
  zp_explain_options(x);
  evaluate(x);
  judge_windows(x);
  for (int32_t i = 0; i < x->options; i++) {
    option *o = &x->option[i];
    if (!helps(o, before, done) || p->edits + o->n > EXPLAIN_EDITS) continue;
    /* a rank that deviated in one way is likely to do so again */
    const int again = same_ranks(o, &p->option[0]) && o->edit->kind == p->option[0].edit->kind;
    const int32_t cost = 2 * (o->left + new_ranks(p, o)) - 3 * again;
    if (cost > least || (cost == least && o->left > 0 && o->done < best.done)) continue;
    const int32_t support = support_of(x, o);
    if (cost == least && (o->left == 0 || o->done == best.done) && support <= most) continue;
    least = cost;
    most = support;
    best = *o;
  }
  return best;
}

static void add_to_plan(const explain *x, plan *p, const option *o)
{
  if (o->edit->kind == EDIT_END && x->track[o->edit->rank].ending == END_EXIT) p->exits++;
  p->ranks += new_ranks(p, o);
  p->edits += o->n;
  p->left = o->left;
  p->option[p->n++] = *o;
}

/* Adds options to a plan until nothing is left, or nothing helps. */
static void complete_plan(explain *x, plan *p)
{
  for (int32_t k = 0; k < p->n; k++) zp_explain_apply(x, &p->option[k]);
  while (p->left > 0 && p->n < EXPLAIN_EDITS) {
    judge_windows(x);
    const option o = best_option(x, p);
    if (o.n == 0) break;
    zp_explain_apply(x, &o);
    add_to_plan(x, p, &o);
  }
  /* the same rank deviates again and again: the rest of the windows is more of that */
  if (p->n == EXPLAIN_EDITS && p->ranks == 1) p->left = 0;
  zp_explain_undo(x, x->edited);
}

/* ---- The first choice ------------------------------------------------------------------------ */

static int32_t cost_of(const option *o)
{
  return o->left + o->n;
}

/* Whether an option is better than the first one of a plan. */
static int is_better(const option *o, int32_t support, const plan *p)
{
  const option *q = &p->option[0];
  if (cost_of(o) != cost_of(q)) return cost_of(o) < cost_of(q);
  if (o->left > 0 && o->done != q->done) return o->done > q->done;
  /* lines and steps that are shifted before the edit are explained by an earlier one only */
  const int32_t gain_o = o->edit->spot.gain, gain_q = q->edit->spot.gain;
  if (gain_o != gain_q && same_ranks(o, q)) return gain_o > gain_q;
  return support > p->support;
}

/* Whether only the better of two options is worth a plan. Where more edits must follow, other kinds
 * of edits of the same ranks may turn out better. */
static int is_alike(const option *a, const option *b)
{
  return same_ranks(a, b) && ((a->left == 0 && b->left == 0) || a->edit->kind == b->edit->kind);
}

/* The options that are worth a plan: the cheapest, of each set of ranks the best. Returns how
 * many. */
static int32_t first_plans(explain *x, plan *p)
{
  int32_t n = 0, least = INT32_MAX;
  const int32_t before = x->left;
  const int64_t done = x->done;
  zp_explain_options(x);
  evaluate(x);
  judge_windows(x);
  for (int32_t i = 0; i < x->options; i++)
    if (helps(&x->option[i], before, done) && cost_of(&x->option[i]) < least)
      least = cost_of(&x->option[i]);
  for (int32_t i = 0; i < x->options; i++) {
    option *o = &x->option[i];
    /* an edit that leaves contradictions may need fewer ranks in the end than it seems */
    if (!helps(o, before, done) || cost_of(o) > least + 2 * (least > 1)) continue;
    const int32_t support = support_of(x, o);
    int32_t k = 0;
    while (k < n && !is_alike(&p[k].option[0], o)) k++;
    if (k < n && !is_better(o, support, &p[k])) continue;
    if (k == EXPLAIN_PLANS) {
      int32_t worst = 0;
      for (int32_t w = 1; w < n; w++)
        if (is_better(&p[worst].option[0], p[worst].support, &p[w])) worst = w;
      if (!is_better(o, support, &p[worst])) continue;
      k = worst;
    }
    if (k == n) n++;
    p[k] = (plan){.support = support};
    add_to_plan(x, &p[k], o);
  }
  return n;
}

static int by_cost(const void *a, const void *b)
{
  const plan *p = *(plan *const *)a, *q = *(plan *const *)b;
  const int32_t cost_p = p->ranks + p->left, cost_q = q->ranks + q->left;
  if (cost_p != cost_q) return cost_p < cost_q ? -1 : 1;
  if (p->edits != q->edits) return p->edits < q->edits ? -1 : 1;
  if (p->exits != q->exits) return p->exits > q->exits ? -1 : 1;
  if (p->n != q->n) return p->n < q->n ? -1 : 1;
  if (p->support != q->support) return p->support > q->support ? -1 : 1;
  return p->option[0].edit->rank - q->option[0].edit->rank;
}

static int includes(const plan *p, const plan *q)
{
  for (int32_t k = 0; k < q->n; k++)
    for (int32_t i = 0; i < q->option[k].n; i++)
      if (!has_rank(p, q->option[k].edit[i].rank)) return 0;
  return 1;
}

/* Of the plans that are as cheap as the first, keeps one for each set of ranks. Returns how
 * many. */
static int32_t keep_distinct(plan **sorted, int32_t n)
{
  int32_t kept = 0;
  const plan *best = sorted[0];
  const int32_t cost = best->ranks + best->left;
  for (int32_t k = 0; k < n; k++) {
    plan *p = sorted[k];
    int same = p->ranks + p->left != cost || p->edits != best->edits || p->exits != best->exits;
    for (int32_t i = 0; i < kept && !same; i++)
      same = includes(p, sorted[i]) && includes(sorted[i], p);
    if (!same) sorted[kept++] = p;
  }
  return kept;
}

static void search(explain *x)
{
  plan *all = zp_explain_take(x, EXPLAIN_PLANS * sizeof *all), *sorted[EXPLAIN_PLANS];
  const int32_t n = first_plans(x, all);
  for (int32_t k = 0; k < n; k++) {
    complete_plan(x, &all[k]);
    sorted[k] = &all[k];
  }
  if (n == 0) return;
  qsort(sorted, (size_t)n, sizeof(plan *), by_cost);
  const int32_t kept = keep_distinct(sorted, n);
  judge_windows(x);
  zp_explain_report(x, sorted, kept);
}

/* The findings before the end of the windows are consequences of the causes. */
static void note_extent(explain *x)
{
  judge *j = x->j;
  j->until = zp_trace_grow(&j->failure, NULL, 0, (size_t)x->world, sizeof *j->until);
  for (int32_t r = 0; r < x->world; r++) {
    const track *t = &x->track[r];
    j->until[r] = INT64_MAX;
    for (int32_t i = 0; x->cut && i < t->n; i++)
      if (t->event[i].at.record >= 0) j->until[r] = t->event[i].at.record;
  }
  j->verdict->cut = x->cut ? x->limit : 0;
}

void zp_trace_explain(judge *j)
{
  if (j->explained) return;
  j->explained = 1;
  explain *x = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *x);
  j->explain = x;
  x->j = j;
  x->world = j->world;
  if (zp_explain_windows(x)) {
    zp_explain_replay(x);
    zp_explain_endings(x);
    judge_windows(x);
    if (x->left > 0) search(x);
    if (j->verdict->causes > 0) note_extent(x);
  }
  zp_trace_explain_free(j);
}

/* ---- At the end ------------------------------------------------------------------------------ */

static int is_consequence(const judge *j, const zp_trace_finding *f)
{
  static const char *const kinds[] = {"mismatch", "behind", "ahead", "short", "cycle", "exit"};
  if (strcmp(f->kind, "consequence") == 0) return 1;
  if (j->until == NULL || f->rank < 0 || f->rank >= j->world || f->record > j->until[f->rank])
    return 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(f->kind, kinds[i]) == 0) return 1;
  return 0;
}

/* Whether the causes say already how these ranks ended. */
static int is_said(const zp_trace_verdict *v, const zp_trace_finding *f)
{
  int32_t said = 0;
  if (strcmp(f->kind, "exit") != 0) return 0;
  for (int32_t i = 0; i < v->causes; i++) {
    const zp_trace_cause *c = &v->cause[i];
    if (strcmp(c->kind, "exit") != 0) continue;
    for (int32_t k = 0; k < c->n_ranks; k++)
      for (int32_t q = 0; q < f->n_ranks; q++) said += c->ranks[k] == f->ranks[q];
  }
  return f->n_ranks > 0 && said >= f->n_ranks;
}

void zp_trace_explain_rest(judge *j)
{
  zp_trace_verdict *v = j->verdict;
  if (v->errors == 0) return;
  for (int32_t i = 0; i < v->findings; i++)
    v->finding[i].consequence = is_said(v, &v->finding[i]) ? -1 : is_consequence(j, &v->finding[i]);
  for (int32_t i = 0; i < v->findings; i++) {
    zp_trace_finding *f = &v->finding[i];
    const int first = v->causes == 0 || strcmp(f->kind, "missing") == 0;
    if (f->warning || !first) continue;
    zp_trace_first_cause(j, f);
    f->consequence = -1;
    return;
  }
}
