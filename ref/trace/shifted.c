/* Hints of skipped and of extra operations in traces that fit. If a rank skips one of several equal
 * operations and enters one more later, no arguments differ. But in between, each of its operations
 * is at the call site and in the step of the next one of the other members.
 * conformance/TRACE.md */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "judge.h"

/* Operations by which a rank may be ahead. Those that must show it, besides the first: in steps, or
 * by call sites alone, which may agree by chance if ranks run different lines. */
enum { SHIFTS = 12, STEPS = 2, SITES = 6, MOMENT = 400 };

/* Warnings of a group at most. */
enum { WARNINGS = 8 };

typedef struct call { /* an operation of a rank in a group */
  int64_t group, number, record, step;
  uint64_t moment; /* a hash of step and call site; 0: both are unknown */
  int32_t link;
} call;

typedef struct calls { /* operations first … first + n - 1 of a rank in a group */
  const call *at;
  int64_t first, n;
  int32_t rank;
} calls;

typedef struct shift {    /* from operation `from` on, a member is ahead of the reference */
  int64_t from, ahead, n; /* n: operations that show it; ahead < 0: it lags */
  int earlier;            /* it may have begun before */
} shift;

typedef struct deviation { /* a member that is shifted, and where it first differs */
  shift shift;
  int32_t rank;
  call mine, theirs;
} deviation;

typedef struct reference { /* the calls of the first member of a group, and what was found */
  calls calls;
  call *own;
  deviation *found; /* [shifted] */
  int32_t same, shifted, cap;
} reference;

/* ---- The operations of a rank ---------------------------------------------------------------- */

static uint64_t moment_of(int64_t step, const char *site)
{
  if (step < 0 && site[0] == 0) return 0;
  return XXH3_64bits_withSeed(site, strlen(site), (uint64_t)step + 1) | 1;
}

static const char *site_of(const player *p, int32_t link)
{
  return zp_trace_text(&p->reader, &p->reader.sites, p->known[link].site);
}

static int by_group(const void *a, const void *b)
{
  const call *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static int is_compared(const player *p, int32_t link)
{
  const member m = p->link[link];
  return m.g != NULL && m.g->parent == NULL && m.g->size > 1 && !m.g->absent[m.place] &&
         p->known[link].sig.op < ZP_TRACE_SEND;
}

/* Lists the last operations of a rank by group. entered: [groups] zeros, and zeros afterwards.
 * Returns how many. */
static int64_t list_calls(const player *p, int32_t *entered, call *out)
{
  const int64_t kept = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  const int64_t from = p->past_n - kept;
  int64_t n = 0, record = p->reader.records, step = -1;
  for (int64_t i = from; i < p->past_n; i++) {
    const int32_t link = p->past[i & (p->past_cap - 1)];
    record -= link >= 0;
    if (link >= 0 && is_compared(p, link)) entered[p->link[link].g->index]++;
  }
  for (int64_t i = from; i < p->past_n; i++) {
    const int32_t link = p->past[i & (p->past_cap - 1)];
    if (link < 0) {
      step = zp_trace_past_step(link);
      continue;
    }
    if (is_compared(p, link)) {
      const member m = p->link[link];
      out[n++] = (call){.group = m.g->index,
                        .number = m.g->pos[m.place] - entered[m.g->index]--,
                        .record = record,
                        .step = step,
                        .moment = moment_of(step, site_of(p, link)),
                        .link = link};
    }
    record++;
  }
  if (n > 1) qsort(out, (size_t)n, sizeof *out, by_group);
  return n;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static const call *nth(const calls *c, int64_t i)
{
  return &c->at[i - c->first];
}

/* Whether operations from … to - d - 1 of `less` are at the moments of those d later of `more`, and
 * not at those of the operations with which they are matched. */
static int is_ahead(const calls *less, const calls *more, int64_t from, int64_t to, int64_t d)
{
  const int64_t needed = nth(less, from)->step >= 0 ? STEPS : SITES;
  int64_t differ = 0;
  if (needed == SITES && to - d - from < 4 * d) return 0;
  for (int64_t i = from; i < to - d; i++) {
    const uint64_t mine = nth(less, i)->moment;
    if (mine == 0 || mine != nth(more, i + d)->moment) return 0;
  }
  for (int64_t i = from + d; i < to && differ < needed; i++)
    differ += nth(less, i)->moment != nth(more, i)->moment;
  return differ >= needed;
}

/* Compares a member with the reference. Returns 0 if they do not differ, or not by a shift. */
static int find_shift(const calls *mine, const calls *theirs, shift *s)
{
  const int64_t first = mine->first > theirs->first ? mine->first : theirs->first;
  const int64_t my_end = mine->first + mine->n, their_end = theirs->first + theirs->n;
  const int64_t to = my_end < their_end ? my_end : their_end;
  int64_t from = first;
  while (from < to && nth(mine, from)->moment == nth(theirs, from)->moment) from++;
  for (int64_t d = 1; d <= SHIFTS; d++) {
    const int64_t n = to - d - from;
    if (n < d) return 0;
    *s = (shift){.from = from, .ahead = d, .n = n, .earlier = from == first && first > 0};
    if (is_ahead(mine, theirs, from, to, d)) return 1;
    s->ahead = -d;
    if (is_ahead(theirs, mine, from, to, d)) return 1;
  }
  return 0;
}

static void compare(judge *j, reference **of, const calls *mine)
{
  shift s;
  reference *r = *of;
  if (r == NULL) {
    *of = r = zp_trace_grow(&j->failure, NULL, 0, 1, sizeof *r);
    r->own = zp_trace_grow(&j->failure, NULL, 0, (size_t)mine->n, sizeof *r->own);
    memcpy(r->own, mine->at, (size_t)mine->n * sizeof *r->own);
    r->calls = *mine;
    r->calls.at = r->own;
    return;
  }
  if (!find_shift(mine, &r->calls, &s)) {
    r->same++;
    return;
  }
  if (r->shifted == r->cap) {
    const int32_t n = r->cap ? 2 * r->cap : 4;
    r->found = zp_trace_grow(&j->failure, r->found, (size_t)r->cap, (size_t)n, sizeof *r->found);
    r->cap = n;
  }
  r->found[r->shifted++] = (deviation){.shift = s,
                                       .rank = mine->rank,
                                       .mine = *nth(mine, s.from),
                                       .theirs = *nth(&r->calls, s.from)};
}

/* ---- Reporting ------------------------------------------------------------------------------- */

/* "at train.py:15 in step 3" */
static const char *moment_text(const player *p, const call *c, char *text)
{
  const char *site = site_of(p, c->link);
  int n = 0;
  text[0] = 0;
  if (site[0] != 0) n = snprintf(text, MOMENT, "at %.*s", (int)strcspn(site, ";"), site);
  if (c->step >= 0)
    snprintf(text + n, (size_t)(MOMENT - n), "%sin step %" PRId64, n > 0 ? " " : "", c->step);
  return text;
}

/* " (train.py:15)" of an operation, and " in step 3" */
static void parts_of(const player *p, const call *c, char *site, char *step)
{
  const char *text = site_of(p, c->link);
  site[0] = step[0] = 0;
  if (text[0] != 0) snprintf(site, MOMENT, " (%.*s)", (int)strcspn(text, ";"), text);
  if (c->step >= 0) snprintf(step, MOMENT, " in step %" PRId64, c->step);
}

/* In the order of the first operation that differs. Those that deviate alike follow each other, in
 * the order of their ranks. */
static int by_shift(const void *a, const void *b)
{
  const deviation *x = a, *y = b;
  if (x->shift.from != y->shift.from) return x->shift.from < y->shift.from ? -1 : 1;
  if (x->shift.ahead != y->shift.ahead) return x->shift.ahead < y->shift.ahead ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Reports n members that deviate alike. others: the members, besides the reference, that do not.
 * Returns 1 if it is the reference that deviates. */
static int report(judge *j, const group *g, const reference *r, const deviation *of, int32_t n,
                  int32_t others)
{
  /* if most are ahead of the reference, it is the reference that lags */
  const int swap = n > others + 1, tie = n == 1 && others == 0;
  const int32_t first = swap ? r->calls.rank : of->rank, other = swap ? of->rank : r->calls.rank;
  const call *mine = swap ? &of->theirs : &of->mine, *theirs = swap ? &of->mine : &of->theirs;
  const int64_t ahead = swap ? -of->shift.ahead : of->shift.ahead, d = ahead < 0 ? -ahead : ahead;
  char at_mine[MOMENT], at_theirs[MOMENT], site[MOMENT], step[MOMENT], op[160], more[64] = "";
  char name[ZP_TRACE_MEMBERS_TEXT], or_else[64] = "";
  const int skipped = ahead > 0;
  moment_text(&j->p[first], mine, at_mine);
  moment_text(&j->p[other], theirs, at_theirs);
  parts_of(&j->p[skipped ? other : first], skipped ? theirs : mine, site, step);
  zp_trace_describe(&j->p[first].known[mine->link].sig, op, sizeof op);
  if (d > 1) snprintf(more, sizeof more, "%" PRId64 " operations, the first ", d);
  if (tie)
    snprintf(or_else, sizeof or_else, ", or rank %d %s", (int)other,
             skipped ? "entered it in addition" : "skipped it");
  zp_trace_add_finding(
      j, "shifted", first, mine->record, 1,
      "rank %d may have %s %s%s%s in %s%s%s%s: its record %" PRId64
      " is %s, where rank %d was %s, and the %" PRId64
      " that follow are shifted likewise%s. This is no error if ranks run different lines, as in "
      "`if rank == 0`",
      (int)first, skipped ? "skipped" : "entered in addition", more, op, site,
      zp_trace_members_text(g, name), step, of->shift.earlier ? " or earlier" : "", or_else,
      mine->record, at_mine, (int)other, at_theirs, of->shift.n - 1,
      n > 1 && !swap ? ", also on other ranks" : "");
  zp_trace_set_step(j, mine->step);
  int32_t *ranks = zp_trace_grow(&j->failure, NULL, 0, (size_t)n + 1, sizeof *ranks);
  for (int32_t i = 0; i < n; i++) ranks[i] = of[i].rank;
  if (swap) ranks[0] = first;
  if (tie) ranks[0] = first < other ? first : other, ranks[1] = first < other ? other : first;
  zp_trace_set_ranks(j, ranks, swap ? 1 : n + tie);
  free(ranks);
  return swap;
}

static void report_all(judge *j, const group *g, reference *r)
{
  qsort(r->found, (size_t)r->shifted, sizeof *r->found, by_shift);
  for (int32_t i = 0, end, n = 0; i < r->shifted && n < WARNINGS; i = end, n++) {
    const shift *s = &r->found[i].shift;
    for (end = i + 1; end < r->shifted; end++)
      if (r->found[end].shift.from != s->from || r->found[end].shift.ahead != s->ahead) break;
    /* what deviates from a reference that deviates itself is not known */
    if (report(j, g, r, &r->found[i], end - i, r->same + r->shifted - (end - i))) return;
  }
}

void zp_trace_report_shifted(judge *j)
{
  if (j->verdict->errors > 0 || j->groups == 0) return;
  const size_t groups = (size_t)j->groups;
  int32_t *entered = zp_trace_grow(&j->failure, NULL, 0, groups, sizeof *entered);
  reference **all = zp_trace_grow(&j->failure, NULL, 0, groups, sizeof(reference *));
  call *list = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->past_most, sizeof *list);
  for (int32_t r = 0; r < j->world; r++) {
    const int64_t n = list_calls(&j->p[r], entered, list);
    for (int64_t i = 0, end; i < n; i = end) {
      for (end = i; end < n && list[end].group == list[i].group;) end++;
      const calls mine = {.at = list + i, .first = list[i].number, .n = end - i, .rank = r};
      compare(j, &all[list[i].group], &mine);
    }
  }
  for (int64_t i = 0; i < j->groups; i++) {
    reference *r = all[i];
    if (r == NULL) continue;
    if (r->shifted > 0) report_all(j, j->all[i], r);
    free(r->own);
    free(r->found);
    free(r);
  }
  free(all);
  free(entered);
  free(list);
}
