/* Makes the traces of a run: trace_gen_driver DIR WORLD TP RECORDS [FAULT RANK [AT]].
 *
 * Ranks are in groups of TP neighbours (tp), in groups across (dp), and in one of all (world). A
 * step is: three tp all-reduces, a grouped exchange with both neighbours of a ring, a dp
 * reduce-scatter and all-gather; the world's all-reduce of the norm ends it. Faults of RANK at its
 * record AT: skip, op, count, redop, swap (two operations in the other order, by two ranks), stop
 * (no more records), late (the same, and no trace has an end mark), hung (only that), miss (no
 * file), junk, hole, sent (a different count is sent), source (a wrong source is recorded), extra
 * (an additional all-reduce of the world before that record, or after the last), short (only the
 * texts of call sites are). A mode may follow: "async" makes all operations asynchronous; "killed"
 * omits end marks; "any" receives from any source, which is recorded at once, with "anylate" at the
 * end of the step, with "anynever" not at all; "only" writes only RANK's file. Each definition has
 * a call site, each group a label. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/trace/trace.h"

enum { TP = 1, DP = 2, WORLD = 3, PATH = 4096 };
enum { AR = 1, RS = 2, AG = 3, SUM = 2, MAX = 5, FP32 = 8, BF16 = 10 };

typedef struct gen {
  FILE *f;
  int64_t rank, world, tp, records, at, done;
  int64_t written, received; /* operations; of them, the last receive */
  const char *fault, *mode;
  int64_t faulty;
  int async, sites;
} gen;

static void num(gen *g, uint64_t v)
{
  for (; v > 127; v >>= 7) putc((int)(v & 127) | 128, g->f);
  putc((int)v, g->f);
}

static void nums(gen *g, const int64_t *v, int n)
{
  for (int i = 0; i < n; i++) num(g, (uint64_t)v[i]);
}

/* An extension with a number below 128 and a text. */
static void extension(gen *g, int kind, int id, const char *text)
{
  nums(g, (int64_t[]){ZP_TRACE_EXTENSION, kind, 1 + (int64_t)strlen(text), id}, 4);
  fputs(text, g->f);
}

static void group_of(gen *g, int id, const char *what, int64_t at, int64_t size, int64_t place,
                     int64_t first, int64_t stride)
{
  char name[64];
  extension(g, ZP_TRACE_LABEL, id, what);
  snprintf(name, sizeof name, "%s %d", what, (int)at);
  nums(g, (int64_t[]){ZP_TRACE_GROUP, id, (int64_t)strlen(name)}, 3);
  fputs(name, g->f);
  /* size, place + 1, one run: first, stride, length */
  nums(g, (int64_t[]){size, place + 1, 1, first, 2 * stride, size}, 6);
}

static void def(gen *g, int id, int op, int redop, int dtype, int64_t count, int group,
                int64_t root)
{
  char site[64];
  const int is_short = strcmp(g->fault, "short") == 0;
  snprintf(site, sizeof site, is_short ? "t:%d" : "train.py:%d;trainer.py:88;main.py:7", 10 + id);
  extension(g, ZP_TRACE_SITE, ++g->sites, site);
  extension(g, ZP_TRACE_AT_SITE, g->sites, "");
  nums(g,
       (int64_t[]){ZP_TRACE_DEF, id, op, redop, dtype, count + 1, group, root + 1, g->async, group},
       10);
}

static int is(const gen *g, const char *mode)
{
  return strcmp(g->mode, mode) == 0;
}

static int at_fault(const gen *g, const char *fault)
{
  return g->rank == g->faulty && g->done == g->at && strcmp(g->fault, fault) == 0;
}

static void extra(gen *g)
{
  if (!at_fault(g, "extra")) return;
  num(g, ZP_TRACE_FIRST_DEF + 5);
  g->written++;
}

static void op(gen *g, int id)
{
  if (g->done >= g->records) return;
  int64_t as = id;
  if (at_fault(g, "op")) as = 8;
  if (at_fault(g, "count")) as = 9;
  if (at_fault(g, "redop")) as = 10;
  if (at_fault(g, "sent")) as = 11;
  extra(g);
  if (!at_fault(g, "skip")) {
    num(g, (uint64_t)(ZP_TRACE_FIRST_DEF + as));
    if (as == 2) g->received = g->written;
    g->written++;
  }
  g->done++;
}

static int swaps(const gen *g)
{
  return strcmp(g->fault, "swap") == 0 && g->rank == g->faulty && g->done >= g->at;
}

/* The source of the last receive, which was the left neighbour. */
static void source(gen *g, const char *mode)
{
  if (!is(g, mode) || g->received < 0) return;
  const int64_t to = strcmp(g->fault, "source") == 0 && g->rank == g->faulty ? 1 : g->world - 1;
  nums(g, (int64_t[]){ZP_TRACE_SOURCE, g->written - g->received, (g->rank + to) % g->world + 1}, 3);
  g->received = -1;
}

static void step(gen *g, int64_t s)
{
  nums(g, (int64_t[]){ZP_TRACE_STEP, s, ZP_TRACE_TIME, 1000}, 4);
  for (int i = 0; i < 3; i++) op(g, 0);
  num(g, ZP_TRACE_CALL);
  op(g, 1);
  op(g, 2);
  num(g, ZP_TRACE_CALL_END);
  source(g, "any");
  if (swaps(g)) op(g, 5);
  op(g, 3);
  op(g, 4);
  if (!swaps(g)) op(g, 5);
  source(g, "anylate");
}

static void one(gen *g)
{
  const int64_t tps = g->world / g->tp, mine = g->rank % g->tp, across = g->rank / g->tp;
  const int64_t left = (g->rank + g->world - 1) % g->world, right = (g->rank + 1) % g->world;
  fwrite(ZP_TRACE_MAGIC, 1, 8, g->f);
  nums(g, (int64_t[]){g->rank, g->world, ZP_TRACE_PHASE, TP, 8}, 5);
  fputs("gradient", g->f);
  group_of(g, TP, "tp", across, g->tp, mine, across * g->tp, 1);
  group_of(g, DP, "dp", mine, tps, across, mine, g->tp);
  group_of(g, WORLD, "world", 0, g->world, g->rank, 0, 1);
  def(g, 0, AR, SUM, BF16, 4096, TP, -1);
  def(g, 1, ZP_TRACE_SEND, 0, BF16, 512, WORLD, right);
  const int async = g->async, any = strncmp(g->mode, "any", 3) == 0;
  g->async |= any ? ZP_TRACE_ANY : 0;
  def(g, 2, ZP_TRACE_RECV, 0, BF16, 512, WORLD, any ? -1 : left);
  g->async = async;
  def(g, 3, RS, SUM, FP32, 100000, DP, -1);
  def(g, 4, AG, 1, BF16, 100000, DP, -1);
  def(g, 5, AR, SUM, FP32, 1, WORLD, -1);
  def(g, 8, 5, 1, BF16, 4096, TP, 0);
  def(g, 9, AR, SUM, BF16, 4095, TP, -1);
  def(g, 10, AR, MAX, BF16, 4096, TP, -1);
  def(g, 11, ZP_TRACE_SEND, 0, BF16, 511, WORLD, right);
  const int late = strcmp(g->fault, "late") == 0;
  const int stop = g->rank == g->faulty && (late || strcmp(g->fault, "stop") == 0);
  if (stop) g->records = g->at;
  for (int64_t s = 0; g->done < g->records; s++) step(g, s);
  extra(g);
  if (g->rank == g->faulty && strcmp(g->fault, "junk") == 0) num(g, ZP_TRACE_FIRST_DEF + 700);
  if (g->rank == g->faulty && strcmp(g->fault, "hole") == 0) num(g, ZP_TRACE_HOLE);
  if (!stop && !late && !is(g, "killed") && strcmp(g->fault, "hung") != 0) num(g, ZP_TRACE_END);
}

int main(int argc, char **argv)
{
  if (argc < 5) return 2;
  const char *fault = argc > 5 ? argv[5] : "none";
  for (int64_t r = 0; r < atoll(argv[2]); r++) {
    char path[PATH];
    gen g = {.rank = r, .world = atoll(argv[2]), .tp = atoll(argv[3]), .records = atoll(argv[4])};
    g.fault = fault;
    g.faulty = argc > 6 ? atoll(argv[6]) : -1;
    g.at = argc > 7 ? atoll(argv[7]) : 0;
    g.mode = argc > 8 ? argv[8] : "";
    g.received = -1;
    g.async = is(&g, "async");
    if (r == g.faulty && strcmp(fault, "miss") == 0) continue;
    if (r != g.faulty && is(&g, "only")) continue;
    snprintf(path, sizeof path, "%s/rank-%d.zpt", argv[1], (int)r);
    if ((g.f = fopen(path, "wb")) == NULL) return 3;
    one(&g);
    if (fclose(g.f)) return 3;
  }
  return 0;
}
