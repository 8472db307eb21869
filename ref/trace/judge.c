/* Replays a recorded run and reports inconsistencies. conformance/TRACE.md */
#define _GNU_SOURCE
#include "judge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Earlier operations that are kept: of a rank, at most and at least; of all ranks. */
enum { PATH = 4200, PAST = 4096, PAST_LEAST = 64, PAST_ALL = 1 << 18 };

/* Errors before warnings, then by record; at one record, a cycle after the missing ranks that cause
 * it. */
static int by_record(const void *a, const void *b)
{
  const zp_trace_finding *x = a, *y = b;
  const int late_x = strcmp(x->kind, "cycle") == 0, late_y = strcmp(y->kind, "cycle") == 0;
  if (x->warning != y->warning) return x->warning - y->warning;
  if (x->record != y->record) return x->record < y->record ? -1 : 1;
  if (late_x != late_y) return late_x - late_y;
  return x->order < y->order ? -1 : 1;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* A link of an operation without a definition is reused when nothing refers to it. Its `link` in
 * player.known is LINK_USED, or else the next one that is not in use. */
enum { LINK_USED = -1, LINK_UNUSED = -2 };

static int is_inline(const player *p, int32_t link)
{
  return link >= 0 && link < p->links && p->known[link].link < 0;
}

/* Finds the links of operations without a definition to which the past, the waits and the receives
 * from any source of the rank do not refer. The limit keeps this rare: as many operations follow
 * before the next call as this one visits. */
static void find_unused_links(player *p)
{
  const int64_t past = p->past_n < p->past_cap ? p->past_n : p->past_cap;
  int32_t used = 0, definitions = 0;
  for (int32_t l = 0; l < p->links; l++)
    if (is_inline(p, l)) p->known[l].link = LINK_UNUSED;
    else definitions++;
  for (int64_t i = p->past_n - past; i < p->past_n; i++) {
    const int32_t link = p->past[i & (p->past_cap - 1)];
    if (is_inline(p, link)) p->known[link].link = LINK_USED;
  }
  for (int32_t w = 0; w < p->waits_cap; w++)
    if (is_inline(p, p->wait[w].link)) p->known[p->wait[w].link].link = LINK_USED;
  for (int32_t i = 0; i < p->anys; i++)
    if (is_inline(p, p->any[i].link)) p->known[p->any[i].link].link = LINK_USED;
  p->unused_link = 0;
  for (int32_t l = p->links; l-- > 0;) {
    if (!is_inline(p, l)) continue;
    if (p->known[l].link == LINK_USED) used++;
    else p->known[l].link = LINK_UNUSED - p->unused_link, p->unused_link = l + 1;
  }
  p->inline_links = used;
  p->inline_most = used + definitions + (int32_t)p->past_cap + p->waits_cap + p->anys + 16;
}

static int32_t new_link(judge *j, player *p)
{
  if (p->links == p->links_cap) {
    const int32_t n = p->links_cap ? 2 * p->links_cap : 8;
    p->link = zp_trace_grow(&j->failure, p->link, (size_t)p->links_cap, (size_t)n, sizeof *p->link);
    p->known =
        zp_trace_grow(&j->failure, p->known, (size_t)p->links_cap, (size_t)n, sizeof *p->known);
    p->links_cap = n;
  }
  return p->links++;
}

static int32_t new_inline_link(judge *j, player *p)
{
  if (p->inline_links >= p->inline_most) find_unused_links(p);
  p->inline_links++;
  if (p->unused_link == 0) return new_link(j, p);
  const int32_t l = p->unused_link - 1;
  p->unused_link = LINK_UNUSED - p->known[l].link;
  return l;
}

static member resolve(judge *j, player *p, zp_trace_def *d)
{
  if (d->link >= 0) return p->link[d->link];
  const int is_defined = d != &p->reader.inline_op;
  member m = d->group < p->groups ? p->group[d->group] : (member){NULL, -1};
  if (m.g != NULL && d->sig.op >= ZP_TRACE_SEND && !(d->sig.flags & ZP_TRACE_ANY))
    m = zp_trace_pair(j, p, &m, &d->sig, p->reader.records - 1);
  d->link = is_defined ? new_link(j, p) : new_inline_link(j, p);
  p->known[d->link] = *d;
  if (!is_defined) p->known[d->link].link = LINK_USED;
  p->link[d->link] = m;
  return m;
}

/* ---- Replay ---------------------------------------------------------------------------------- */

/* The rank enters an operation and waits, unless it was the last member to enter. */
static void enter(judge *j, player *p, zp_trace_def *d)
{
  const member m = resolve(j, p, d);
  const zp_trace_at at = {p->reader.records - 1, p->step};
  zp_trace_note_past(j, p, d->link);
  if (m.g == NULL) {
    j->unjudged++;
    return;
  }
  if (d->sig.op < ZP_TRACE_SEND && d->sig.root >= m.g->size && !m.g->reported) {
    char text[ZP_TRACE_NAME], where[ZP_TRACE_AT];
    m.g->reported = 1;
    zp_trace_describe(&d->sig, text, sizeof text);
    zp_trace_add_finding(j, "root", p->reader.rank, at.record, 0,
                         "rank %d enters %s at its %s: got root %d, expected 0 to %d",
                         (int)p->reader.rank, text, zp_trace_at_text(at, where), (int)d->sig.root,
                         (int)m.g->size - 1);
    zp_trace_set_step(j, at.step);
  }
  if (d->sig.flags & ZP_TRACE_ANY) zp_trace_from_any(j, p, m, &d->sig, at, d->link);
  else if (zp_trace_enter(j, p, m, &d->sig, at))
    zp_trace_add_wait(j, p, m, at, d->sig.flags & ZP_TRACE_ASYNC, d->link);
}

static void block(judge *j, player *p)
{
  p->blocked = 1;
  zp_trace_put(&j->changed, p->reader.rank);
}

/* Replays a rank until it must wait. */
static void replay(judge *j, player *p)
{
  zp_trace_item *item = &j->item;
  while (zp_trace_next(&p->reader, item)) {
    switch (item->kind) {
    case ZP_TRACE_OP: enter(j, p, item->op); break;
    case ZP_TRACE_GROUP: zp_trace_join(j, p, item); break;
    case ZP_TRACE_CALL: p->in_call = 1; break;
    case ZP_TRACE_CALL_END: p->in_call = 0; break;
    case ZP_TRACE_WAIT: zp_trace_wait_again(j, p, p->reader.records - item->number); break;
    case ZP_TRACE_SOURCE:
      zp_trace_source(j, p, p->reader.records - item->number, item->source);
      break;
    case ZP_TRACE_STEP:
      p->step = item->number;
      zp_trace_note_past(j, p, zp_trace_past_of_step(item->number));
      break;
    case ZP_TRACE_VALUE: zp_trace_add_value(j, p); break;
    default: break;
    }
    if (p->waits > 0 && !p->in_call) {
      block(j, p);
      return;
    }
  }
  if (p->waits > 0) block(j, p);
  else zp_trace_gone(j, p);
}

/* Each file has the world size of its run. Returns 1 if all agree; else reports two of them. */
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
  zp_trace_add_finding(
      j, "world", -1, -1, 0,
      "rank-%d.zpt belongs to a run of %d ranks (%d file%s), but rank-%d.zpt belongs to a "
      "run of %d ranks: nothing is judged. If the folder has traces of two runs, empty it "
      "and record again. If it was one run, give all ranks the same world size "
      "(ZEROPROOF_TRACE_WORLD, WORLD_SIZE)",
      (int)first, (int)j->p[first].reader.world, (int)n, n > 1 ? "s" : "", (int)other,
      (int)j->p[other].reader.world);
  return 0;
}

/* A process that has ended before the file is read does not add to it any more. */
static void open_file(judge *j, int32_t rank)
{
  char path[PATH];
  snprintf(path, sizeof path, "%s/rank-%d.zpt", j->dir, (int)rank);
  j->p[rank].locked = zp_trace_is_locked(path);
  zp_trace_open(&j->p[rank].reader, &j->failure, j->dir, rank);
}

static void open_ranks(judge *j, int32_t world)
{
  if (world <= j->world) return;
  j->p = zp_trace_grow(&j->failure, j->p, (size_t)j->world, (size_t)world, sizeof *j->p);
  while (j->world < world) {
    zp_trace_reader *r = &j->p[j->world].reader;
    j->p[j->world].edge = -1;
    j->p[j->world].step = -1;
    j->world++; /* first, so that `clean` closes a reader whose opening fails */
    const int32_t rank = j->world - 1;
    if (j->has[rank] && j->flight.world > 0)
      zp_trace_open_image(r, &j->failure, rank, j->flight.image[rank], j->flight.size[rank]);
    else if (j->has[rank]) open_file(j, rank);
    else
      *r = (zp_trace_reader){
          .failure = &j->failure, .dir = j->dir, .rank = rank, .state = ZP_TRACE_MISSING};
    r->wants_values = 1;
    j->bytes += r->bytes;
  }
}

static void report_missing(judge *j)
{
  char who[ZP_TRACE_RANKS];
  int32_t *gone = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *gone);
  for (int32_t r = 0; r < j->world; r++)
    if (j->p[r].reader.state == ZP_TRACE_MISSING) gone[j->missing++] = r;
  if (j->missing > 0) {
    zp_trace_add_finding(j, "missing", gone[0], -1, 0,
                         j->flight.world > 0 ? "%s ha%s no dump: none ends in %d"
                                             : "%s ha%s no trace: file rank-%d.zpt is missing",
                         zp_trace_ranks(gone, j->missing, who), j->missing > 1 ? "ve" : "s",
                         (int)gone[0]);
    zp_trace_set_ranks(j, gone, j->missing);
  }
  free(gone);
}

/* Opens the traces. Makes all ranks ready if the traces can be judged. */
static void start(judge *j)
{
  j->has = zp_trace_grow(&j->failure, NULL, 0, ZP_TRACE_WORLD, 1);
  int32_t named = zp_trace_named(j->dir, j->has);
  if (named == 0) zp_flight_load(&j->flight, &j->failure, j->dir, j->has);
  if (j->flight.world > 0) named = j->flight.world;
  if (named <= 0)
    zp_trace_fail(&j->failure, ZP_E_REFUSED, "%s: %s.", j->dir,
                  named < 0 && errno == EOVERFLOW
                      ? "the rank in a file name is too large (a run has at most 131072 ranks)"
                  : named < 0 ? strerror(errno)
                              : "no traces found, expected files rank-N.zpt or dumps of the Flight "
                                "Recorder");
  open_ranks(j, named);
  int32_t most = 0;
  for (int32_t r = 0; r < named; r++)
    if (j->p[r].reader.world > most) most = j->p[r].reader.world;
  if (!one_run(j)) return;
  open_ranks(j, most);
  j->world_known = most > 0;
  report_missing(j);
  j->ready = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *j->ready);
  j->start = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *j->start);
  zp_trace_set_make(&j->failure, &j->files, j->world);
  zp_trace_set_make(&j->failure, &j->senders, j->world);
  zp_trace_set_make(&j->failure, &j->changed, j->world);
  (void)getentropy(&j->seed, sizeof j->seed);
  for (j->past_most = PAST; j->past_most > PAST_LEAST && j->past_most * j->world > PAST_ALL;)
    j->past_most /= 2;
  for (int32_t r = j->world; r-- > 0;) {
    j->ready[j->n_ready++] = r;
    if (j->p[r].reader.state == ZP_TRACE_READING) zp_trace_put(&j->files, r);
    else j->p[r].gone = 1;
  }
}

static void report_damage(judge *j, const player *p)
{
  char after[64] = "before its first record";
  const int64_t last = p->reader.records - 1;
  const int64_t byte = p->reader.offset - p->reader.have + p->reader.at;
  if (zp_trace_is_none(&p->reader)) {
    zp_trace_add_finding(j, "damaged", p->reader.rank, -1, 0, "rank-%d.zpt: " ZP_TRACE_NO_TRACE,
                         (int)p->reader.rank);
    return;
  }
  if (last >= 0) snprintf(after, sizeof after, "after its record %" PRId64, last);
  zp_trace_add_finding(j, "damaged", p->reader.rank, last, 0,
                       "rank %d's trace is damaged %s, near byte %" PRId64
                       ": the rest of it is not judged",
                       (int)p->reader.rank, after, byte);
  zp_trace_set_step(j, p->step);
}

/* Reports the ranks, n of them, whose traces have no end mark and whose writers are in a state. */
static void report_no_end(judge *j, const int32_t *cut, int32_t n, zp_trace_writer writer)
{
  char who[ZP_TRACE_RANKS];
  const char *why = writer == ZP_WRITER_RUNS    ? ZP_TRACE_STILL_RUNS
                    : writer == ZP_WRITER_ENDED ? ZP_TRACE_HAS_ENDED
                                                : ZP_TRACE_NO_END;
  int32_t *rank = zp_trace_grow(&j->failure, NULL, 0, (size_t)n + 1, sizeof *rank), k = 0;
  for (int32_t i = 0; i < n; i++)
    if (zp_trace_writer_of(&j->p[cut[i]].reader, j->host, j->p[cut[i]].locked) == writer)
      rank[k++] = cut[i];
  if (k > 0) {
    zp_trace_add_finding(j, "unfinished", rank[0], j->p[rank[0]].reader.records - 1, 1,
                         "%s ha%s %s", zp_trace_ranks(rank, k, who), k > 1 ? "ve" : "s", why);
    zp_trace_set_ranks(j, rank, k);
    zp_trace_set_step(j, j->p[rank[0]].step);
  }
  free(rank);
}

static void finish(judge *j)
{
  int32_t stopped = 0, damaged = 0;
  int32_t *cut = zp_trace_grow(&j->failure, NULL, 0, (size_t)j->world, sizeof *cut);
  for (int32_t r = 0; r < j->world; r++) {
    const player *p = &j->p[r];
    j->records += p->reader.records;
    j->unjudged += p->any_open;
    j->verdict->could_have_values |= j->flight.world == 0 && p->reader.ns > 0;
    if (p->reader.state == ZP_TRACE_ENDED) j->ended++;
    if (p->reader.state == ZP_TRACE_STOPPED && p->reader.exit.how == ZP_TRACE_NO_EXIT)
      cut[stopped++] = r;
    if (p->reader.state != ZP_TRACE_DAMAGED) continue;
    report_damage(j, p);
    damaged++;
  }
  zp_trace_report_behind(j);
  zp_trace_report_short(j);
  zp_trace_report_exits(j);
  zp_trace_report_values(j);
  zp_trace_report_shifted(j);
  for (int32_t i = 0; i < j->flight.notes; i++) {
    const zp_flight_note *note = &j->flight.note[i];
    zp_trace_add_finding(j, "unknown", note->ranks > 0 ? note->rank[0] : -1, -1, 1, "%s",
                         note->text);
    if (note->ranks > 0) zp_trace_set_ranks(j, note->rank, note->ranks);
  }
  for (int w = ZP_WRITER_UNKNOWN; w <= ZP_WRITER_ENDED && j->flight.world == 0; w++)
    report_no_end(j, cut, stopped, (zp_trace_writer)w); /* a dump has no end */
  free(cut);
  if (j->records == 0 && damaged == 0)
    zp_trace_add_finding(j, "empty", -1, -1, 0,
                         "all traces are empty: the recorder recorded no operation");
  if (j->unjudged)
    zp_trace_add_finding(
        j, "unjudged", -1, -1, 1,
        "%" PRId64
        " records are not judged: the members of their group, or their source or destination, "
        "are not known",
        j->unjudged);
}

static void clean(judge *j)
{
  zp_flight_close(&j->flight);
  zp_trace_explain_free(j);
  zp_trace_free_values(j);
  free(j->until);
  for (int64_t i = 0; i < j->groups; i++) {
    group *g = j->all[i];
    free(g->key);
    free(g->ring);
    free(g->ahead);
    free(g->queue);
    free(g->orphan);
    free(g);
  }
  for (int32_t r = 0; r < j->world && j->p; r++) {
    player *p = &j->p[r];
    zp_trace_close(&p->reader);
    free(p->group);
    free(p->link);
    free(p->known);
    free(p->past);
    free(p->joined);
    zp_trace_free_waits(p);
    zp_trace_free_any(p);
  }
  for (int32_t i = 0; i < j->gaps; i++) {
    free(j->gap[i].late);
    free(j->gap[i].early);
  }
  free(j->gap);
  free(j->p);
  free(j->ready);
  free(j->has);
  free(j->start);
  free(j->files.word);
  free(j->senders.word);
  free(j->changed.word);
  free(j->moved);
  free(j->stirred);
  free(j->due.at);
  free(j->later.at);
  free(j->strange.at);
  free(j->table);
  free(j->all);
  free(j);
}

static void judge_all(judge *j)
{
  zp_trace_verdict *v = j->verdict;
  start(j);
  if (j->n_ready > 0) {
    do {
      while (j->n_ready > 0) replay(j, &j->p[j->ready[--j->n_ready]]);
    } while (zp_trace_stall(j));
    finish(j);
  }
  if (v->findings > 1) qsort(v->finding, (size_t)v->findings, sizeof *v->finding, by_record);
  zp_trace_explain_rest(j);
  zp_trace_value_cause(j);
}

int zp_trace_judge(const char *dir, zp_trace_verdict *v, zp_error *err)
{
  judge *j = calloc(1, sizeof *j);
  int status;
  memset(v, 0, sizeof *v);
  if (j == NULL) return zp_fail(err, ZP_E_MEMORY, -1, "no memory for %zu bytes.", sizeof *j);
  j->dir = dir;
  j->verdict = v;
  j->on_error = zp_trace_explain;
  zp_trace_host(j->host);
  if (setjmp(j->failure.leave) == 0) judge_all(j);
  status = j->failure.err.status;
  if (status != 0) zp_fail(err, status, -1, "%s", j->failure.err.text);
  v->world = j->world;
  v->records = j->records;
  v->unjudged = j->unjudged;
  v->mismatches = j->mismatches;
  v->cycles = j->cycles;
  v->async_cycles = j->warnings;
  clean(j);
  return status;
}

void zp_trace_verdict_free(zp_trace_verdict *v)
{
  for (int32_t i = 0; i < v->findings; i++) {
    free(v->finding[i].text);
    free(v->finding[i].op);
    free(v->finding[i].group);
    free(v->finding[i].site);
    free(v->finding[i].value.tensor);
    free(v->finding[i].ranks);
  }
  free(v->finding);
  for (int32_t i = 0; i < v->causes; i++) {
    zp_trace_cause *c = &v->cause[i];
    free(c->ranks);
    free(c->op);
    free(c->group);
    free(c->site);
    free(c->phase);
    free(c->text);
    free(c->value.tensor);
  }
  free(v->cause);
}
