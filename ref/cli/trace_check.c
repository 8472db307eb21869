/* zeroproof trace check: plays a recorded run, and tells what does not fit. conformance/TRACE.md */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "trace_judge.h"

enum { TOLD_MAX = 50, NAMED = 3 };

void zp_trace_find(judge *j, const char *kind, int32_t rank, int64_t record, int warning,
                   const char *format, ...)
{
  if (j->findings == j->findings_cap) {
    const int32_t n = j->findings_cap ? 2 * j->findings_cap : 8;
    j->finding = zp_trace_grow(j->finding, (size_t)j->findings_cap, (size_t)n, sizeof *j->finding);
    j->findings_cap = n;
  }
  finding *f = &j->finding[j->findings++];
  *f = (finding){kind, rank, warning, record, j->findings, NULL, NULL, 0};
  va_list args;
  va_start(args, format);
  if (vasprintf(&f->text, format, args) < 0) f->text = zp_trace_grow(NULL, 0, 1, 1);
  va_end(args);
}

void zp_trace_of(judge *j, const int32_t *rank, int32_t n)
{
  finding *f = &j->finding[j->findings - 1];
  f->ranks = zp_trace_grow(NULL, 0, (size_t)n, sizeof *f->ranks);
  memcpy(f->ranks, rank, (size_t)n * sizeof *rank);
  f->n_ranks = n;
}

const char *zp_trace_ranks(const int32_t *rank, int32_t n, char *text)
{
  if (n == 1) snprintf(text, ZP_TRACE_RANKS, "rank %d", (int)rank[0]);
  if (n == 1) return text;
  int at = snprintf(text, ZP_TRACE_RANKS, "%d ranks (", (int)n);
  for (int32_t i = 0; i < n && (n <= NAMED + 1 || i < NAMED); i++)
    at += snprintf(text + at, (size_t)(ZP_TRACE_RANKS - at), "%d, ", (int)rank[i]);
  if (n <= NAMED + 1) at -= 2;
  snprintf(text + at, (size_t)(ZP_TRACE_RANKS - at), n <= NAMED + 1 ? ")" : "...)");
  return text;
}

/* Errors before warnings, by record; of a record, who never came before the cycle that it made. */
static int by_record(const void *a, const void *b)
{
  const finding *x = a, *y = b;
  const int late_x = strcmp(x->kind, "cycle") == 0, late_y = strcmp(y->kind, "cycle") == 0;
  if (x->warning != y->warning) return x->warning - y->warning;
  if (x->record != y->record) return x->record < y->record ? -1 : 1;
  if (late_x != late_y) return late_x - late_y;
  return x->order < y->order ? -1 : 1;
}

/* A rank waits again for what it had gone on without. */
static void wait_for(player *p, int64_t ago)
{
  for (int32_t k = 0; k < p->loosed; k++) {
    wait w = p->loose[k];
    if (w.record != p->reader.records - ago) continue;
    p->loose[k] = p->loose[--p->loosed];
    w.async = 0;
    if (zp_trace_is_open(w.g, w.i)) zp_trace_hold(p, w);
    return;
  }
}

/* Goes on until it must wait. */
static void play(judge *j, player *p)
{
  static zp_trace_item item; /* large, and needed by nobody but this call */
  while (zp_trace_next(&p->reader, &item)) {
    switch (item.kind) {
    case ZP_TRACE_OP: zp_trace_enter(j, p, item.op); break;
    case ZP_TRACE_GROUP: zp_trace_join(j, p, &item); break;
    case ZP_TRACE_CALL: p->in_call = 1; break;
    case ZP_TRACE_CALL_END: p->in_call = 0; break;
    case ZP_TRACE_WAIT: wait_for(p, item.number); break;
    case ZP_TRACE_SOURCE:
      zp_trace_source(j, p, p->reader.records - item.number, item.source);
      break;
    case ZP_TRACE_STEP: p->step = item.number; break;
    default: break;
    }
    if (p->waits > 0 && !p->in_call) {
      p->blocked = 1;
      return;
    }
  }
  p->blocked = p->waits > 0;
}

/* Every file says of how many ranks its run is. 0: not all the same, which is told. */
static int one_run(judge *j)
{
  int32_t first = -1, other = -1, n = 0, n_other = 0;
  for (int32_t r = 0; r < j->world; r++) {
    const int32_t world = j->p[r].reader.world;
    if (world == 0) continue;
    if (first < 0) first = r;
    n += world == j->p[first].reader.world;
    if (world == j->p[first].reader.world) continue;
    if (other < 0) other = r;
    n_other++;
  }
  if (other < 0) return 1;
  zp_trace_find(j, "world", -1, 0, 0,
                "rank-%d.zpt is of a run of %d ranks (%d file%s), rank-%d.zpt of one of %d: where "
                "these are two runs, empty the folder and record again; where it is one, its ranks "
                "were told different world sizes (ZEROPROOF_TRACE_WORLD, WORLD_SIZE). Nothing is "
                "judged",
                (int)first, (int)j->p[first].reader.world, (int)n, n > 1 ? "s say so" : " says so",
                (int)other, (int)j->p[other].reader.world);
  return 0;
}

static void open_ranks(judge *j, int32_t world)
{
  if (world <= j->world) return;
  j->p = zp_trace_grow(j->p, (size_t)j->world, (size_t)world, sizeof *j->p);
  for (; j->world < world; j->world++) {
    zp_trace_reader *r = &j->p[j->world].reader;
    zp_trace_open(r, j->dir, j->world);
    j->bytes += r->bytes;
  }
}

static void tell_missing(judge *j)
{
  char who[ZP_TRACE_RANKS];
  int32_t *gone = zp_trace_grow(NULL, 0, (size_t)j->world, sizeof *gone);
  for (int32_t r = 0; r < j->world; r++)
    if (j->p[r].reader.state == ZP_TRACE_MISSING) gone[j->missing++] = r;
  if (j->missing > 0) {
    zp_trace_find(j, "missing", gone[0], 0, 0, "%s ha%s no trace: there is no file rank-%d.zpt",
                  zp_trace_ranks(gone, j->missing, who), j->missing > 1 ? "ve" : "s", (int)gone[0]);
    zp_trace_of(j, gone, j->missing);
  }
  free(gone);
}

/* 0, and somebody is ready where there is something to judge; or an exit code. */
static int start(judge *j)
{
  const int32_t named = zp_trace_named(j->dir);
  if (named <= 0) {
    fprintf(stderr, "zeroproof trace: %s: %s.\n", j->dir,
            named < 0 && errno == EOVERFLOW
                ? "a file is named for a rank that no run has (131072 ranks at most)"
            : named < 0 ? strerror(errno)
                        : "no trace is there: no file rank-N.zpt");
    return ZP_EXIT_REFUSED;
  }
  open_ranks(j, named);
  int32_t most = 0;
  for (int32_t r = 0; r < named; r++)
    if (j->p[r].reader.world > most) most = j->p[r].reader.world;
  if (!one_run(j)) return 0;
  open_ranks(j, most);
  j->world_known = most > 0;
  tell_missing(j);
  j->ready = zp_trace_grow(NULL, 0, (size_t)j->world, sizeof *j->ready);
  for (int32_t r = j->world; r-- > 0;) j->ready[j->n_ready++] = r;
  return 0;
}

static void finish(judge *j)
{
  int32_t stopped = 0, first = -1;
  for (int32_t r = 0; r < j->world; r++) {
    const player *p = &j->p[r];
    j->records += p->reader.records;
    j->unjudged += p->anys;
    if (p->reader.state == ZP_TRACE_ENDED) j->ended++;
    if (p->reader.state == ZP_TRACE_STOPPED) {
      stopped++;
      if (first < 0) first = r;
    }
    if (p->reader.state == ZP_TRACE_DAMAGED)
      zp_trace_find(j, "damaged", r, p->reader.records, 0,
                    "rank %d's trace is damaged behind record %" PRId64 ", near byte %" PRId64
                    ": what follows is not judged",
                    (int)r, p->reader.records, p->reader.offset - p->reader.have + p->reader.at);
  }
  zp_trace_tell_behind(j);
  zp_trace_tell_short(j);
  if (stopped)
    zp_trace_find(j, "unfinished", first, j->p[first].reader.records, 1,
                  "%d trace%s without an end mark (rank %d's%s): killed, or not closed",
                  (int)stopped, stopped > 1 ? "s" : "", (int)first, stopped > 1 ? " first" : "");
  if (j->records == 0) zp_trace_find(j, "empty", -1, 0, 0, "there is no record in any trace");
  if (j->unjudged)
    zp_trace_find(
        j, "unjudged", -1, 0, 1,
        "%" PRId64
        " records are of groups whose members are not known, or do not tell whom they send "
        "to or receive from: not judged",
        j->unjudged);
}

static int errors(const judge *j)
{
  int n = 0;
  for (int32_t i = 0; i < j->findings; i++) n += !j->finding[i].warning;
  return n;
}

static void print_json(const judge *j)
{
  json_t *list = json_array();
  for (int32_t i = 0; i < j->findings; i++) {
    const finding *f = &j->finding[i];
    json_t *ranks = json_array();
    for (int32_t k = 0; k < f->n_ranks; k++)
      json_array_append_new(ranks, json_integer(f->ranks[k]));
    if (f->n_ranks == 0 && f->rank >= 0) json_array_append_new(ranks, json_integer(f->rank));
    json_array_append_new(list,
                          json_pack("{s:s, s:s, s:i, s:o, s:I, s:s}", "kind", f->kind, "level",
                                    f->warning ? "warning" : "error", "rank", (int)f->rank, "ranks",
                                    ranks, "record", (json_int_t)f->record, "text", f->text));
  }
  json_t *all = json_pack("{s:s, s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "schema",
                          "zeroproof/trace/1", "good", errors(j) == 0, "ranks", (int)j->world,
                          "records", (json_int_t)j->records, "not_judged", (json_int_t)j->unjudged,
                          "mismatches", (json_int_t)j->mismatches, "cycles", (json_int_t)j->cycles,
                          "asynchronous_cycles", (json_int_t)j->warnings, "findings", list);
  json_dumpf(all, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(all);
}

static void print_text(const judge *j)
{
  const int bad = errors(j);
  for (int32_t i = 0; i < j->findings && i < TOLD_MAX; i++)
    printf("%s%s\n", j->finding[i].warning ? "warning: " : "", j->finding[i].text);
  if (j->findings > TOLD_MAX)
    printf("and %d more (--json lists all)\n", (int)j->findings - TOLD_MAX);
  printf("%" PRId64 " records of %d ranks: %s", j->records, (int)j->world,
         bad ? "they do not fit" : "they fit");
  if (j->mismatches > 1) printf("; %" PRId64 " operations differ", j->mismatches);
  if (j->cycles > 1) printf("; %" PRId64 " cycles", j->cycles);
  putchar('\n');
}

static void clean(judge *j)
{
  for (int64_t i = 0; i < j->groups; i++) {
    group *g = j->all[i];
    free(g->key);
    free(g->rank);
    free(g->pos);
    free(g->absent);
    free(g->ring);
    free(g->ahead);
    free(g);
  }
  for (int32_t r = 0; r < j->world && j->p; r++) {
    player *p = &j->p[r];
    zp_trace_close(&p->reader);
    free(p->group);
    free(p->link);
    free(p->wait);
    free(p->loose);
    free(p->any);
  }
  for (int32_t i = 0; i < j->gaps; i++) {
    free(j->gap[i].late);
    free(j->gap[i].early);
  }
  free(j->gap);
  for (int32_t i = 0; i < j->findings; i++) {
    free(j->finding[i].text);
    free(j->finding[i].ranks);
  }
  free(j->finding);
  free(j->p);
  free(j->ready);
  free(j->table);
  free(j->all);
}

int zp_trace_check(const char *dir, int json)
{
  judge j = {.dir = dir};
  int code = start(&j);
  if (code == 0 && j.n_ready > 0) {
    do {
      while (j.n_ready > 0) play(&j, &j.p[j.ready[--j.n_ready]]);
    } while (zp_trace_stall(&j));
    finish(&j);
  }
  if (code == 0) {
    if (j.findings > 1) qsort(j.finding, (size_t)j.findings, sizeof *j.finding, by_record);
    if (json) print_json(&j);
    else print_text(&j);
    code = errors(&j) ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  clean(&j);
  return code;
}
