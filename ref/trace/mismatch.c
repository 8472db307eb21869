/* Members that entered different operations as the k-th of their group. conformance/TRACE.md,
 * LEDG-2 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge.h"

enum { TEXT = 160, WHERE = 560 };

/* ---- Two values ------------------------------------------------------------------------------ */

/* "rank 2", "2 ranks (0, 2)": the members that entered what most did; odd: the only one that did
 * not, or -1. */
static const char *majority(judge *j, const group *g, int32_t odd, int32_t first, int32_t n,
                            char *text)
{
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *rank), k = 0;
  for (int32_t q = 0; q < g->size && odd >= 0; q++)
    if (!g->absent[q] && g->rank[q] >= 0 && g->rank[q] != odd) rank[k++] = g->rank[q];
  if (k == n) zp_trace_ranks(rank, n, text);
  else if (n == 1) zp_trace_ranks(&first, 1, text);
  else snprintf(text, ZP_TRACE_RANKS, "rank %d and %d more", (int)first, (int)n - 1);
  free(rank);
  return text;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The last finding concerns all members that entered operation i. */
static void name_members(judge *j, const group *g, int64_t i)
{
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *rank), n = 0;
  for (int32_t q = 0; q < g->size; q++)
    if (g->rank[q] >= 0 && g->pos[q] > i) rank[n++] = g->rank[q];
  if (n > 1) qsort(rank, (size_t)n, sizeof *rank, ascending);
  zp_trace_set_ranks(j, rank, n);
  free(rank);
}

static void report_two(judge *j, const group *g, int64_t i, const inst *x)
{
  char want[WHERE], got[TEXT], who[ZP_TRACE_RANKS], at[ZP_TRACE_AT];
  const int swap = x->n_odd > x->n, tie = x->n_odd == x->n; /* the majority is considered correct */
  zp_trace_where(g, i, swap ? &x->odd : &x->sig, want, sizeof want);
  zp_trace_describe(swap ? &x->sig : &x->odd, got, sizeof got);
  const int32_t odd = swap ? x->first : x->odd_first, other = swap ? x->odd_first : x->first;
  const int32_t few = swap ? x->n : x->n_odd;
  const zp_trace_at odd_at = swap ? x->at : x->odd_at;
  zp_trace_add_finding(j, "mismatch", odd, odd_at.record, 0,
                       "rank %d enters %s at its %s%s %s%s %s%s", (int)odd, got,
                       zp_trace_at_text(odd_at, at), tie ? ", but" : "; expected", want,
                       tie ? " is entered by" : ", as entered by",
                       majority(j, g, few > 1 ? -1 : odd, other, swap ? x->n_odd : x->n, who),
                       tie       ? "; the traces do not show which of the two is right"
                       : few > 1 ? "; other ranks differ as well"
                                 : "");
  zp_trace_set_step(j, odd_at.step);
  if (tie) name_members(j, g, i);
}

/* ---- More values ----------------------------------------------------------------------------- */

typedef struct entry { /* of a member */
  zp_trace_sig sig;
  zp_trace_at at;
  int32_t rank, listed;
  const char *site; /* "": unknown */
} entry;

/* What the rank at a place entered in operation i, which is the first incomplete one. Returns 0 if
 * that is no longer known. */
static int find_entry(const judge *j, const group *g, int32_t place, int64_t i, const inst *x,
                      entry *e)
{
  const player *p = &j->p[g->rank[place]];
  const int32_t rank = p->reader.rank;
  *e = (entry){.rank = rank, .site = ""};
  if (p == j->entering && j->entered.g == g) {
    e->sig = *j->entering_sig;
    e->at = (zp_trace_at){p->reader.records - 1, p->step};
    if (p->reader.last != NULL)
      e->site = zp_trace_text(&p->reader, &p->reader.sites, p->reader.last->site);
    return 1;
  }
  if (g->last_wait[place] == 0) return 0;
  const wait *w = &p->wait[p->wait[g->last_wait[place] - 1].later];
  if (w->i != i) return 0;
  e->at = w->at;
  if (w->link != ZP_TRACE_NO_LINK && p->known[w->link].sig.op != 0) {
    e->sig = p->known[w->link].sig;
    e->site = zp_trace_text(&p->reader, &p->reader.sites, p->known[w->link].site);
    return 1;
  }
  if (rank != x->first && rank != x->odd_first) return 0;
  e->sig = rank == x->first ? x->sig : x->odd;
  return 1;
}

/* Unlike zp_trace_same, an unknown argument equals only an unknown one: what equals every value has
 * no majority. */
static int identical(const zp_trace_sig *a, const zp_trace_sig *b)
{
  return a->op == b->op && a->redop == b->redop && a->dtype == b->dtype && a->count == b->count &&
         a->root == b->root;
}

/* Whether more than half of `all` members entered the same, and others something else; then *most
 * is the first of these. */
static int32_t find_majority(const entry *e, int32_t n, int32_t all, int32_t *most)
{
  int32_t votes = 0, count = 0;
  for (int32_t k = 0; k < n; k++) {
    if (votes == 0) *most = k;
    votes += identical(&e[*most].sig, &e[k].sig) ? 1 : -1;
  }
  for (int32_t k = n; k-- > 0;) count += identical(&e[*most].sig, &e[k].sig);
  for (int32_t k = *most; k-- > 0;)
    if (identical(&e[*most].sig, &e[k].sig)) *most = k;
  return 2 * count > all && count < n ? count : 0;
}

typedef enum field { FIELD_COUNT, FIELD_DTYPE, FIELD_ROOT, FIELD_SEVERAL } field;

/* The only argument in which entries differ, if there is one. */
static field differing(const entry *e, int32_t n)
{
  int count = 0, dtype = 0, root = 0, other = 0;
  for (int32_t k = 1; k < n; k++) {
    const zp_trace_sig *a = &e[0].sig, *b = &e[k].sig;
    count |= a->count != b->count;
    dtype |= a->dtype != b->dtype;
    root |= a->root != b->root;
    other |= a->op != b->op || a->redop != b->redop;
  }
  if (other || count + dtype + root != 1) return FIELD_SEVERAL;
  return count ? FIELD_COUNT : dtype ? FIELD_DTYPE : FIELD_ROOT;
}

static int by_rank(const void *a, const void *b)
{
  const entry *x = a, *y = b;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void describe(field f, const zp_trace_sig *s, char *text)
{
  const int64_t value = f == FIELD_COUNT ? s->count : s->root;
  if (f == FIELD_SEVERAL) zp_trace_describe(s, text, TEXT);
  else if (f == FIELD_DTYPE) snprintf(text, TEXT, "%s", zp_trace_dtypes[s->dtype]);
  else if (value < 0) snprintf(text, TEXT, "?");
  else snprintf(text, TEXT, "%" PRId64, value);
}

/* Appends "4 on ranks 0, 2 (ex.py:16)": the entries that are the same as number k. */
static void put_value(judge *j, FILE *t, field f, entry *e, int32_t n, int32_t k)
{
  char what[TEXT], runs[ZP_TRACE_RUNS];
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)n, sizeof *rank), ranks = 0;
  const zp_trace_sig sig = e[k].sig;
  const char *site = e[k].site;
  for (int32_t q = 0; q < n; q++) {
    if (e[q].listed || !identical(&sig, &e[q].sig)) continue;
    e[q].listed = 1;
    rank[ranks++] = e[q].rank;
    if (strcmp(site, e[q].site) != 0) site = "";
  }
  describe(f, &sig, what);
  fprintf(t, "%s on rank%s %s", what, ranks > 1 ? "s" : "", zp_trace_runs(rank, ranks, runs));
  if (site[0]) fprintf(t, " (%.*s)", (int)strcspn(site, ";"), site);
  free(rank);
}

/* Lists what the members entered: the majority's first, then by rank. */
static void put_values(judge *j, FILE *t, field f, entry *e, int32_t n, int32_t first)
{
  enum { LISTED = 4 };
  int32_t values = 0;
  if (first >= 0) put_value(j, t, f, e, n, first), values++;
  for (int32_t k = 0; k < n; k++) {
    if (e[k].listed) continue;
    if (values == LISTED) fprintf(t, ", and others");
    if (values++ == LISTED) return;
    if (values > 1) fprintf(t, ", ");
    put_value(j, t, f, e, n, k);
  }
}

static char *copy(judge *j, const char *s)
{
  char *p = zp_trace_grow(&j->failure, NULL, 0, strlen(s) + 1, 1);
  return strcpy(p, s);
}

/* The last finding is about this entry. */
static void note_call(judge *j, const group *g, const entry *e)
{
  char op[TEXT];
  zp_trace_finding *f = &j->verdict->finding[j->verdict->findings - 1];
  const group *named = g->parent != NULL ? g->parent : g;
  const char *label =
      named->named_by ? zp_trace_text(named->named_by, &named->named_by->labels, named->id) : "";
  zp_trace_describe(&e->sig, op, sizeof op);
  f->step = e->at.step;
  f->op = copy(j, op);
  f->group = copy(j, label[0] ? label : named->key);
  if (e->site[0]) f->site = copy(j, e->site);
}

static void report_several(judge *j, const group *g, int64_t i, const inst *x)
{
  static const char *const fields[] = {"element counts", "types", "roots"};
  char *sentence = NULL;
  size_t length = 0;
  FILE *t = open_memstream(&sentence, &length);
  if (t == NULL) zp_trace_fail(&j->failure, ZP_E_MEMORY, "no memory for a sentence.");
  char members[ZP_TRACE_MEMBERS_TEXT];
  entry *e = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *e);
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)g->size, sizeof *rank);
  int32_t n = 0, all = 0, most = -1, ranks = 0;
  for (int32_t q = 0; q < g->size; q++) {
    if (g->absent[q] || g->rank[q] < 0) continue;
    n += find_entry(j, g, q, i, x, &e[n]);
    all++;
  }
  qsort(e, (size_t)n, sizeof *e, by_rank);
  const int32_t majority = find_majority(e, n, all, &most);
  const field f = differing(e, n);
  zp_trace_members_text(g, members);
  if (f != FIELD_SEVERAL)
    fprintf(t, "members enter %s (number %" PRId64 " in %s) with different %s: ",
            zp_trace_ops[e->sig.op], i, members, fields[f]);
  else fprintf(t, "members enter different operations as number %" PRId64 " in %s: ", i, members);
  put_values(j, t, f, e, n, majority > 0 ? most : -1);
  if (n < all) fprintf(t, "; what the other %d entered is not known", (int)(all - n));
  if (majority > 0) fprintf(t, "; %d of %d entered the first, a majority", (int)majority, (int)all);
  else if (n == all) fprintf(t, "; none has a majority: the traces do not show which is right");
  fclose(t);
  int32_t odd = -1;
  for (int32_t k = 0; k < n; k++) {
    if (majority > 0 && identical(&e[most].sig, &e[k].sig)) continue;
    if (odd < 0) odd = k;
    rank[ranks++] = e[k].rank;
  }
  zp_trace_add_finding(j, "mismatch", rank[0], e[odd].at.record, 0, "%s", sentence);
  zp_trace_set_ranks(j, rank, ranks);
  note_call(j, g, &e[odd]);
  free(rank);
  free(e);
  free(sentence);
}

void zp_trace_report_mismatch(judge *j, group *g, int64_t i, const inst *x)
{
  j->on_error(j);
  j->mismatches++;
  if (g->reported) return;
  g->reported = 1;
  if (x->odd.flags & ZP_TRACE_VARIED) report_several(j, g, i, x);
  else report_two(j, g, i, x);
}
