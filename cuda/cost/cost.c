/* Times, bounds and sensitivities of a job. */
#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "../../ref/base/memory_free.h"
#include "../../ref/engine/rank_plan.h"
#include "picture.h"
#include "simulate.h"

/* A step begins when the one before has ended: from the second on they take the same time. */
enum { STEPS = 3 };
/* Of all steps, for an op of one; measured: 1,900 to 2,100. An op has at most 5 nodes a step, and
 * a piece of backward or forward. */
/* The graph of the window's accesses takes time in the square of the buckets: half a minute. */
enum { WINDOW_OPS = 1 << 17 };
enum { BYTES_PER_OP = 2600, OPS_MOST = INT32_MAX / (6 * STEPS) };
/* As it is, without communications, and with less and more of each figure. */
enum { SIMULATIONS = 2 + 2 * ZP_FIGS }; /* and one with offload */
/* Work that is left out: it takes no time. */
enum { NO_WORK, ALL_COMMUNICATION, ALL_OF_HOST };

static const char *const names[ZP_WORKS] = {
    "forward",
    "backward",
    "gradients, accumulated",
    "sums, converted",
    "means, squared norm",
    "update",
    "scatter of parameters",
    "statistics and decision",
    "reductions of gradients",
    "gathers of parameters",
    "sum of the statistics",
    "exchanges of stages",
    "copies to the host",
    "update on the host",
    "copies from the host",
};

_Static_assert((int)ZP_WORKS == (int)ZP_TIME_WORKS && (int)ZP_FIGS == (int)ZP_TIME_FIGURES,
               "sizes of a report");
_Static_assert((int)ZP_MACHINE_TEXT == (int)ZP_TIME_TEXT, "sizes of a report");

typedef struct timing {
  zp_hb_plan *p;
  const zp_time_job *job;
  zp_work *work;
  zp_times times;
  int32_t simulated;
} timing;

static int no_memory(zp_error *err)
{
  return zp_fail(err, ZP_E_MEMORY, -1, "out of memory for the cost model");
}

static int is_of_host(int32_t kind)
{
  return kind == ZP_WORK_TO_HOST || kind == ZP_WORK_HOST_UPDATE || kind == ZP_WORK_FROM_HOST;
}

/* Seconds of the last step. 0 in *err, or a status. */
static int simulate(timing *t, const zp_machine *m, int32_t without, double *seconds, zp_error *err)
{
  const zp_workload_size size = {
      t->job->tokens,  t->job->activation_bytes,      t->job->native,     t->job->offload,
      t->job->partial, t->job->hyper->fp32_gradients, t->job->cfg->params};
  double end[STEPS] = {0};
  if (t->job->progress) t->job->progress(t->simulated++, SIMULATIONS + (t->job->offload != 0));
  if (zp_work_of(t->p, m, &size, t->work, err)) return err->status;
  for (int32_t v = 0; without != NO_WORK && v < t->p->graph.n; v++) {
    zp_work *w = &t->work[v];
    if (without == ALL_COMMUNICATION ? w->comm : is_of_host(w->kind))
      *w = (zp_work){.kind = w->kind, .comm = w->comm};
  }
  if (zp_simulate(t->p, t->work, &t->times)) return no_memory(err);
  for (int32_t v = 0; v < t->p->graph.n; v++) {
    double *last = &end[t->p->node[v].step];
    if (*last < t->times.end[v]) *last = t->times.end[v];
  }
  *seconds = end[STEPS - 1] - end[STEPS - 2];
  return 0;
}

/* ---- The report ------------------------------------------------------------------------------ */

typedef struct rank_sums {
  double compute, communication, memory;
  double bucket[ZP_WORKS]; /* the longest piece of each kind */
  zp_time_work work[ZP_WORKS];
} rank_sums;

static double larger(double a, double b)
{
  return a > b ? a : b;
}

static void add_work(rank_sums *s, const zp_work *w)
{
  zp_time_work *to = &s->work[w->kind];
  const double alone = w->fixed + w->seconds;
  to->seconds += alone;
  to->bytes += w->bytes;
  to->wire += w->wire;
  if (w->flops > 0) s->compute += alone;
  if (w->comm) s->communication += alone;
  s->memory += w->seconds * w->use[ZP_USES_MEMORY];
  s->bucket[w->kind] = larger(s->bucket[w->kind], alone);
}

/* The work of the last step, by rank; a communication is that of each of its members. */
static void add_all(const timing *t, rank_sums *sums)
{
  const zp_hb_graph *g = &t->p->graph;
  for (int32_t v = 0; v < g->n; v++) {
    const zp_hb_node *n = &t->p->node[v];
    if (n->step != STEPS - 1) continue;
    if (n->chain >= 0) add_work(&sums[n->rank], &t->work[v]);
    for (int64_t k = g->first[v]; n->chain < 0 && k < g->first[v + 1]; k++)
      add_work(&sums[t->p->node[g->edge[k].to].rank], &t->work[v]);
  }
}

/* The host's work of a rank, and what of it the next step's first forward cannot hide. */
static void add_host(const rank_sums *s, zp_time_report *o)
{
  static const int32_t kinds[] = {ZP_WORK_TO_HOST, ZP_WORK_HOST_UPDATE, ZP_WORK_FROM_HOST};
  const double rest = s->work[ZP_WORK_HOST_UPDATE].seconds - s->bucket[ZP_WORK_FORWARD];
  double least = rest > 0 ? rest : 0;
  for (int32_t i = 0; i < 3; i++) {
    o->host = larger(o->host, s->work[kinds[i]].seconds);
    least += s->bucket[kinds[i]];
  }
  o->offload_least = larger(o->offload_least, least);
}

static int fill(const timing *t, zp_time_report *o, zp_error *err)
{
  rank_sums *sums = calloc((size_t)t->p->world, sizeof *sums);
  int32_t busiest = 0;
  if (!sums) return no_memory(err);
  add_all(t, sums);
  for (int32_t r = 0; r < t->p->world; r++) {
    o->compute = larger(o->compute, sums[r].compute);
    o->communication = larger(o->communication, sums[r].communication);
    o->memory = larger(o->memory, sums[r].memory);
    if (t->job->offload) add_host(&sums[r], o);
    if (sums[r].compute > sums[busiest].compute) busiest = r;
  }
  o->bound = larger(larger(o->compute, o->host), larger(o->communication, o->memory));
  for (int32_t k = 0; k < ZP_WORKS; k++) {
    zp_time_work *w = &sums[busiest].work[k];
    w->name = names[k];
    if (w->seconds > 0) o->work[o->works++] = *w;
  }
  for (int32_t v = 0; v < t->p->graph.n; v++)
    o->nodes += t->p->node[v].step == STEPS - 1 && t->work[v].fixed + t->work[v].seconds > 0;
  free(sums);
  return 0;
}

/* The step with 30 % less and more of each figure. */
static int vary(timing *t, const zp_machine *m, zp_time_report *o, zp_error *err)
{
  for (int32_t i = 0; i < ZP_FIGS; i++) {
    zp_time_figure *f = &o->figure[i];
    f->key = zp_figures[i].key;
    f->unit = zp_figures[i].unit;
    f->value = m->figure[i];
    memcpy(f->source, m->source[i], sizeof f->source);
    for (int k = 0; k < 2; k++) {
      zp_machine other = *m;
      other.figure[i] *= k ? 1.3 : 0.7;
      if (other.figure[i] > 1 && strcmp(f->unit, "1") == 0) other.figure[i] = 1;
      if (simulate(t, &other, NO_WORK, k ? &f->more : &f->less, err)) return err->status;
    }
    o->figures++;
  }
  return 0;
}

static int draw(const timing *t, zp_error *err)
{
  const zp_picture picture = {t->p, t->work, &t->times, STEPS - 1};
  if (t->job->trace && zp_cost_trace(&picture, t->job->trace, err)) return err->status;
  return t->job->svg ? zp_cost_svg(&picture, t->job->svg, err) : 0;
}

static int time_plan(timing *t, const zp_machine *m, zp_time_report *o, zp_error *err)
{
  double alone = 0;
  if (simulate(t, m, NO_WORK, &o->step, err) || fill(t, o, err) || draw(t, err) ||
      simulate(t, m, ALL_COMMUNICATION, &alone, err))
    return err->status;
  o->exposed = o->step - alone;
  if (t->job->offload && simulate(t, m, ALL_OF_HOST, &alone, err)) return err->status;
  if (t->job->offload) o->offload_exposed = o->step - alone;
  return vary(t, m, o, err);
}

/* ---- The job --------------------------------------------------------------------------------- */

/* The graph must fit into memory, and its nodes into 32 bits. */
static int check_memory(const zp_time_job *job, zp_time_report *o, zp_error *err)
{
  const double free_bytes = zp_memory_free_now("").bytes;
  int64_t ops = 0;
  for (int32_t stage = 0; stage < job->cfg->pp; stage++) {
    zp_rank_plan p;
    zp_device_memory device = {0};
    const int32_t rank = zp_rank_of(job->cfg, (zp_coord){.pp = stage});
    const int status = zp_rank_plan_open(&p, job->cfg, job->hyper, rank, err);
    ops += status ? 0 : p.n;
    if (job->offload) p.memory.state = 0;
    const int no = !status && zp_device_memory_of(&p.block, &p.lay, &device);
    const int64_t needs =
        zp_device_memory_total(&p.memory, &device) + (job->native ? device.native : 0);
    if (o->needs < (double)needs) o->needs = (double)needs;
    zp_rank_plan_close(&p);
    if (status) return status;
    if (no) return no_memory(err);
  }
  if (job->cfg->stage < 2 && ops > WINDOW_OPS)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "a step has %lld ops in one rank of each stage; at ZeRO stages 0 and 1 at most "
                   "%d are simulated. Use larger buckets (bucket is %lld elements) or fewer "
                   "micro-batches.",
                   (long long)ops, (int)WINDOW_OPS, (long long)job->cfg->bucket);
  if ((double)ops * BYTES_PER_OP <= 0.95 * free_bytes && ops <= OPS_MOST) return 0;
  return zp_fail(
      err, ZP_E_REFUSED, -1,
      "a step has %lld ops in one rank of each stage; to simulate it takes up to %.0f "
      "MiB of memory and %.0f MiB are free. Use larger buckets (bucket is %lld elements) "
      "or fewer micro-batches.",
      (long long)ops, (double)ops * BYTES_PER_OP / 0x1p20, free_bytes / 0x1p20,
      (long long)job->cfg->bucket);
}

static int check_job(const zp_time_job *job, const zp_machine *m, zp_time_report *o, zp_error *err)
{
  const int64_t most = (int64_t)m->nodes * m->ranks_per_node, world = zp_world(job->cfg);
  if (world > most)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "--machine: %s has %lld ranks (nodes times ranks_per_node), the job %lld",
                   m->name, (long long)most, (long long)world);
  return check_memory(job, o, err);
}

int zp_cost_time(const zp_time_job *job, zp_time_report *report, zp_error *err)
{
  static const uint8_t get[STEPS] = {0};
  zp_block_rank b = zp_block_of(job->cfg, 1, 0); /* of it the flat sizes of entries (PART-2) */
  const zp_hb_case c = {.cfg = &b.cfg,
                        .own = job->cfg->params,
                        .replicas = zp_replicas(job->hyper),
                        .steps = STEPS,
                        .slots = job->hyper->slots,
                        .native = job->native,
                        .offload = job->offload,
                        .fp32_gradients = job->hyper->fp32_gradients,
                        .get = get,
                        .sets = 1,
                        .gradual = 1,
                        .partial = job->partial,
                        .stages = 1};
  zp_machine m;
  timing t = {.job = job};
  char text[ZP_HB_TEXT];
  int status;
  memset(report, 0, sizeof *report);
  if (zp_machine_read(job->machine, &m, err) || check_job(job, &m, report, err)) return err->status;
  if (zp_block_align(&b, zp_entry_align(job->hyper->entry_align, job->cfg->precision)))
    return no_memory(err);
  report->capacity = m.capacity;
  memcpy(report->machine, m.name, sizeof report->machine);
  t.p = zp_hb_plan_open(&c, text, sizeof text);
  if (!t.p) {
    zp_block_close(&b);
    return zp_fail(err, ZP_E_MEMORY, -1, "the plan's graph: %s", text);
  }
  const size_t n = (size_t)t.p->graph.n + 1;
  t.work = malloc(n * sizeof *t.work);
  t.times.begin = calloc(n, sizeof(double));
  t.times.end = calloc(n, sizeof(double));
  if (!t.work || !t.times.begin || !t.times.end) status = no_memory(err);
  else status = time_plan(&t, &m, report, err);
  free(t.work);
  free(t.times.begin);
  free(t.times.end);
  zp_hb_plan_close(t.p);
  zp_block_close(&b);
  return status;
}
