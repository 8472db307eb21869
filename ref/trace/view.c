/* A recorded run as a Chrome/Perfetto trace: a process per rank, a row per group. An operation
 * lasts until it returned, arrows join the operations of all members, and what the causes concern
 * is red: conformance/TRACE.md, "Pictures". */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "../draw/chrome_trace.h"
#include "timeline.h"

/* Without a choice of ranks: the first FIRST, and so many of each of the first causes. */
enum { TEXT = 160, CAUSES = 200, FIRST = 64, CAUSES_ADDED = 8, RANKS_ADDED = 8 };

/* What a failure must release: it jumps out of draw_ranks. */
typedef struct view {
  zp_trace_failure failure;
  zp_trace_reader reader;
  zp_timeline line;
  zp_trace_verdict verdict;
  uint8_t *wanted; /* [world] */
  int32_t world;
  int64_t records;
} view;

static double us(const view *v, const zp_timed_rank *r, int64_t ns)
{
  return (double)(ns + r->offset - v->line.first) / 1000;
}

/* A time that may be outside of the picture, if the rank has no operation. */
static double inside(const view *v, const zp_timed_rank *r, int64_t ns)
{
  const double at = us(v, r, ns), end = (double)(v->line.last - v->line.first) / 1000;
  return at < 0 ? 0 : at > end ? end : at;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static void arguments(zp_chrome_trace *t, const view *v, const zp_timed_op *op,
                      const zp_trace_def *d, int64_t step)
{
  const zp_trace_reader *r = &v->reader;
  char text[TEXT], cause[ZP_TRACE_CAUSE_TEXT];
  const char *phase = d->phase > 0 ? zp_trace_text(r, &r->phases, d->phase) : "";
  const char *site = d->site > 0 ? zp_trace_text(r, &r->sites, d->site) : "";
  zp_trace_describe(&d->sig, text, sizeof text);
  zp_chrome_args(t);
  zp_chrome_string(t, "what", text);
  zp_chrome_integer(t, "record", r->records - 1);
  zp_chrome_integer(t, "step", step);
  if (phase[0]) zp_chrome_string(t, "phase", phase);
  if (site[0]) zp_chrome_string(t, "site", site);
  if (op->back != ZP_BACK)
    zp_chrome_string(t, "returned", op->back == ZP_BACK_NEVER ? "never" : "unknown");
  if (op->mark)
    zp_chrome_string(t, "cause", zp_trace_cause_text(&v->verdict.cause[op->mark - 1], cause));
}

/* An asynchronous operation has a slice for its call. */
static int64_t slice_end(const zp_timed_op *op)
{
  return op->async && op->leave - op->enter > 1000 ? op->enter + 1000 : op->leave;
}

/* Operations that overlap others cannot be slices of a row: an asynchronous one also has an
 * interval of its own until the wait for it returned. */
static void slice(zp_chrome_trace *t, const view *v, const zp_timed_rank *r, const zp_trace_def *d,
                  int64_t step)
{
  const int64_t k = v->reader.records - 1;
  const zp_timed_op *op = &r->op[k];
  const char *phase = d->phase > 0 ? zp_trace_text(&v->reader, &v->reader.phases, d->phase) : "";
  const double from = us(v, r, op->enter), end = us(v, r, op->leave);
  const double call = us(v, r, slice_end(op)) - from;
  zp_chrome_slice(t, r->rank, op->row, from, call, zp_trace_ops[op->op], phase);
  if (op->mark) zp_chrome_string(t, "cname", "terrible");
  else if (op->back == ZP_BACK_NEVER) zp_chrome_string(t, "cname", "bad");
  arguments(t, v, op, d, step);
  zp_chrome_close(t);
  for (int i = 0; i < 2 && slice_end(op) < op->leave; i++) {
    zp_chrome_event(t, i ? "e" : "b");
    zp_chrome_row(t, r->rank, op->row);
    zp_chrome_time(t, "ts", i ? end : from);
    zp_chrome_string(t, "name", zp_trace_ops[op->op]);
    zp_chrome_string(t, "cat", "asynchronous");
    zp_chrome_integer(t, "id", (int64_t)(r - v->line.ranks) << 40 | k);
    zp_chrome_close(t);
  }
}

/* One end of an arrow, or a point that it passes: ph s, t or f. */
static void point(zp_chrome_trace *t, const view *v, const zp_member *m, const char *ph, int64_t ns,
                  int64_t id)
{
  const zp_timed_rank *r = &v->line.ranks[m->rank];
  const zp_timed_op *op = &r->op[m->record];
  zp_chrome_event(t, ph);
  if (ph[0] == 'f') zp_chrome_string(t, "bp", "e");
  zp_chrome_row(t, r->rank, op->row);
  zp_chrome_time(t, "ts", (double)(ns - v->line.first) / 1000);
  zp_chrome_string(t, "name", zp_trace_ops[op->op]);
  zp_chrome_string(t, "cat", "members");
  zp_chrome_integer(t, "id", id);
  zp_chrome_close(t);
}

/* An arrow from a send into its receive. Viewers drop arrows that lead back in time, so that to a
 * receive whose slice ended before, an asynchronous one, leads from it to the send. */
static void arrow_to_receive(zp_chrome_trace *t, const view *v, const zp_member *send,
                             const zp_member *receive, int64_t id)
{
  const zp_timeline *l = &v->line;
  const zp_timed_rank *r = &l->ranks[receive->rank];
  const int64_t from = zp_timeline_entered(l, send), at = zp_timeline_entered(l, receive);
  const int64_t end = slice_end(&r->op[receive->record]) + r->offset;
  if (at >= from || from < end) {
    point(t, v, send, "s", from, id);
    point(t, v, receive, "f", at >= from ? at : from, id);
  } else {
    point(t, v, receive, "s", at, id);
    point(t, v, send, "f", from, id);
  }
}

static uint8_t op_of(const zp_timeline *l, const zp_member *m)
{
  return l->ranks[m->rank].op[m->record].op;
}

/* An arrow from the member that entered first, over the others in their order, to the last; of a
 * pair, from the send to the receive. */
static void arrows(zp_chrome_trace *t, const view *v)
{
  const zp_timeline *l = &v->line;
  int64_t id = 0;
  for (int64_t i = 0, end; i < l->members; i = end) {
    const zp_member *m = &l->member[i];
    end = zp_timeline_run(l, i);
    if (end - i < 2) continue;
    id++;
    if (end - i == 2 && op_of(l, &m[0]) + op_of(l, &m[1]) == ZP_TRACE_SEND + ZP_TRACE_RECV) {
      const int first = op_of(l, &m[0]) == ZP_TRACE_RECV;
      arrow_to_receive(t, v, &m[first], &m[!first], id);
      continue;
    }
    for (int64_t k = 0; k < end - i; k++) {
      const char *ph = k == 0 ? "s" : k == end - i - 1 ? "f" : "t";
      point(t, v, &m[k], ph, zp_timeline_entered(l, &m[k]), id);
    }
  }
}

/* ---- What is red ----------------------------------------------------------------------------- */

static zp_timed_rank *rank_of(view *v, int32_t rank)
{
  for (int32_t i = 0; i < v->line.n; i++)
    if (v->line.ranks[i].rank == rank) return &v->line.ranks[i];
  return NULL;
}

/* The operation at which a rank deviated: the last one, if the record is not known. */
static zp_timed_op *own_op(const zp_timed_rank *r, const zp_trace_cause *cause)
{
  if (r == NULL || r->n == 0) return NULL;
  return &r->op[cause->record < 0 || cause->record >= r->n ? r->n - 1 : cause->record];
}

/* The operation of another member that the cause concerns, or NULL. */
static zp_timed_op *waiting_op(view *v, const zp_trace_cause *cause)
{
  zp_timed_rank *r = cause->waiting >= 0 ? rank_of(v, cause->waiting) : NULL;
  return r == NULL || cause->waiting_record >= r->n ? NULL : &r->op[cause->waiting_record];
}

/* Whether the rank deviated after its last operation. */
static int at_end(const zp_trace_cause *cause)
{
  static const char *const ends[] = {"exit", "hang", "truncated", "damaged"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (strcmp(cause->kind, ends[i]) == 0) return 1;
  return 0;
}

static void mark_members(view *v, zp_timed_op *op, int32_t c)
{
  op->mark = (uint8_t)(c + 1);
  for (int64_t i = 0; op->set >= 0 && i < v->line.members; i++) {
    const zp_member *m = &v->line.member[i];
    if (m->set != op->set || m->seq != op->seq) continue;
    v->line.ranks[m->rank].op[m->record].mark = (uint8_t)(c + 1);
  }
}

/* The operation in which others wait for the rank; and, unless the rank did nothing instead of it,
 * the operation at which the rank deviated. Of both, those of all members. */
static void mark_cause(view *v, int32_t c)
{
  const zp_trace_cause *cause = &v->verdict.cause[c];
  zp_timed_op *waiting = waiting_op(v, cause);
  zp_timed_op *own = own_op(cause->n_ranks > 0 ? rank_of(v, cause->ranks[0]) : NULL, cause);
  if (waiting != NULL) mark_members(v, waiting, c);
  if (waiting != NULL && (at_end(cause) || strcmp(cause->kind, "skip") == 0)) return;
  if (own != NULL) mark_members(v, own, c);
}

static void mark_causes(view *v)
{
  for (int32_t c = v->verdict.causes < CAUSES ? v->verdict.causes : CAUSES; c-- > 0;)
    mark_cause(v, c);
}

/* A mark with the sentence, at the deviating rank: where it deviated, or after its last item. If
 * that rank is not drawn, the mark is where another one waits for it. Returns 0 if neither is. */
static int say_cause(zp_chrome_trace *t, view *v, const zp_trace_cause *cause)
{
  const zp_timed_rank *r = cause->n_ranks > 0 ? rank_of(v, cause->ranks[0]) : NULL;
  const zp_timed_op *op = own_op(r, cause);
  char text[ZP_TRACE_CAUSE_TEXT];
  int64_t at = op == NULL || at_end(cause) ? -1 : op->enter;
  if (r == NULL && (op = waiting_op(v, cause)) != NULL) {
    r = rank_of(v, cause->waiting);
    at = op->enter;
  }
  if (r == NULL) return 0;
  zp_chrome_event(t, "i");
  zp_chrome_string(t, "s", "p");
  zp_chrome_row(t, r->rank, op == NULL ? 0 : op->row);
  zp_chrome_time(t, "ts", inside(v, r, at < 0 ? r->last : at));
  zp_chrome_string(t, "name", zp_trace_cause_text(cause, text));
  zp_chrome_string(t, "cat", "cause");
  zp_chrome_string(t, "cname", "terrible");
  zp_chrome_close(t);
  return 1;
}

/* ---- Ranks ----------------------------------------------------------------------------------- */

static void step_mark(zp_chrome_trace *t, int32_t rank, double at, int64_t step)
{
  char text[32];
  snprintf(text, sizeof text, "step %" PRId64, step);
  zp_chrome_event(t, "i");
  zp_chrome_string(t, "s", "p");
  zp_chrome_row(t, rank, 0);
  zp_chrome_time(t, "ts", at);
  zp_chrome_string(t, "name", text);
  zp_chrome_close(t);
}

/* A row has the label of its group, if the trace has one, before the key. */
static void name_row(zp_chrome_trace *t, const zp_trace_reader *r, const zp_trace_item *group)
{
  char text[2 * ZP_TRACE_NAME + 3];
  const char *label =
      group->number < ZP_TRACE_WORLD ? zp_trace_text(r, &r->labels, (int32_t)group->number) : "";
  if (label[0]) snprintf(text, sizeof text, "%s (%s)", label, group->name);
  else snprintf(text, sizeof text, "%s", group->name);
  zp_chrome_name(t, r->rank, group->number, "thread_name", text);
}

static void draw(zp_chrome_trace *t, view *v, const zp_timed_rank *rank)
{
  zp_trace_reader *r = &v->reader;
  zp_trace_item item;
  int64_t step = -1;
  char text[64];
  snprintf(text, sizeof text, "rank %d", (int)rank->rank);
  zp_chrome_name(t, rank->rank, 0, "process_name", text);
  /* the file may have grown since it was first read */
  while (zp_trace_next(r, &item) && r->records <= rank->n) {
    if (item.kind == ZP_TRACE_GROUP) name_row(t, r, &item);
    if (item.kind == ZP_TRACE_STEP) {
      const int64_t k = r->records;
      step = item.number;
      step_mark(t, rank->rank, inside(v, rank, k < rank->n ? rank->op[k].enter : rank->last), step);
    }
    if (item.kind == ZP_TRACE_OP) slice(t, v, rank, item.op, step);
  }
}

static void want(view *v, int32_t rank)
{
  if (rank >= 0 && rank < v->world) v->wanted[rank] = 1;
}

/* Without a choice, the picture shows the causes whatever ranks they concern: some of those that
 * deviated, and one that waits. */
static void choose(view *v, int32_t first, int32_t last)
{
  const int32_t end = last < 0 ? FIRST - 1 : last;
  v->wanted = zp_trace_grow(&v->failure, NULL, 0, (size_t)v->world, 1);
  for (int32_t rank = first; rank <= end && rank < v->world; rank++) want(v, rank);
  for (int32_t c = 0; last < 0 && c < v->verdict.causes && c < CAUSES_ADDED; c++) {
    const zp_trace_cause *cause = &v->verdict.cause[c];
    for (int32_t k = 0; k < cause->n_ranks && k < RANKS_ADDED; k++) want(v, cause->ranks[k]);
    want(v, cause->waiting);
  }
}

static void report_drawn(view *v, zp_trace_drawn *drawn)
{
  drawn->world = v->verdict.world > v->world ? v->verdict.world : v->world;
  drawn->rank = zp_trace_grow(&v->failure, NULL, 0, (size_t)v->line.n + 1, sizeof *drawn->rank);
  for (int32_t i = 0; i < v->line.n; i++) drawn->rank[drawn->n++] = v->line.ranks[i].rank;
}

/* Counts the records drawn. Returns 0 or a status. */
static int draw_ranks(view *v, FILE *f, const char *dir, int32_t first, int32_t last,
                      zp_trace_drawn *drawn)
{
  zp_chrome_trace t;
  if (setjmp(v->failure.leave) != 0) return v->failure.err.status;
  v->line.failure = &v->failure;
  choose(v, first, last);
  zp_timeline_read(&v->line, dir, v->wanted, v->world);
  mark_causes(v);
  zp_chrome_begin(&t, f, 0, NULL);
  for (int32_t i = 0; i < v->line.n; i++) {
    zp_trace_open(&v->reader, &v->failure, dir, v->line.ranks[i].rank);
    if (v->reader.state == ZP_TRACE_READING) draw(&t, v, &v->line.ranks[i]);
    v->records += v->line.ranks[i].n;
    zp_trace_close(&v->reader);
  }
  arrows(&t, v);
  drawn->left_out = -1;
  for (int32_t c = 0; c < v->verdict.causes && c < CAUSES; c++) {
    const zp_trace_cause *cause = &v->verdict.cause[c];
    if (!say_cause(&t, v, cause) && c == 0 && cause->n_ranks > 0) drawn->left_out = cause->ranks[0];
  }
  zp_chrome_end(&t);
  report_drawn(v, drawn);
  return 0;
}

int zp_trace_view(const char *dir, const char *file, int32_t first, int32_t last,
                  zp_trace_drawn *drawn, zp_error *err)
{
  const int32_t world = zp_trace_named(dir, NULL);
  view v = {.world = world};
  zp_output to;
  if (world <= 0 || first >= world)
    return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s.", dir,
                   world < 0    ? strerror(errno)
                   : world == 0 ? "no traces found, expected files rank-N.zpt"
                                : "it has no trace of the requested ranks");
  if (zp_output_spares("--out", file, (const char *[]){dir, NULL}, err) != 0) return err->status;
  if (zp_output_open(&to, file, err) != 0) return err->status;
  if (zp_trace_judge(dir, &v.verdict, err) != 0 && err->status == ZP_E_MEMORY) {
    zp_trace_verdict_free(&v.verdict);
    return zp_output_close(&to, err->status, err);
  }
  *err = (zp_error){0}; /* traces that cannot be judged can be drawn */
  if (draw_ranks(&v, to.f, dir, first, last, drawn) != 0) {
    zp_trace_close(&v.reader);
    zp_fail(err, v.failure.err.status, -1, "%s", v.failure.err.text);
  } else if (v.records == 0) {
    zp_fail(err, ZP_E_REFUSED, -1, "%s: all traces are empty: nothing to show in %s.", dir, file);
  }
  zp_timeline_free(&v.line);
  zp_trace_verdict_free(&v.verdict);
  free(v.wanted);
  return zp_output_close(&to, err->status, err);
}
