/* The cost model's simulation: times of single pieces by hand, laws of random graphs, and the bytes
 * and times of a plan. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/cost/cost.h"
#include "../../../cuda/cost/simulate.h"
#include "../../../cuda/verify/schedule.h"

enum { MOST = 400, CHAINS = 3 };

/* A graph made by hand: nodes of ranks and streams, and joint nodes. */
typedef struct graph {
  zp_hb_plan p;
  zp_hb_node node[MOST];
  zp_work work[MOST];
  double begin[MOST], end[MOST];
} graph;

static graph *open_graph(int32_t ranks)
{
  graph *g = calloc(1, sizeof *g);
  cr_assert(g);
  g->p.node = g->node;
  g->p.world = ranks;
  g->p.streams = CHAINS;
  return g;
}

static int32_t add(graph *g, int32_t rank, int32_t chain, zp_work w)
{
  const int32_t v = zp_hb_graph_vertex(&g->p.graph, chain, 1);
  cr_assert(v >= 0 && v < MOST);
  g->node[v] = (zp_hb_node){.rank = rank, .chain = chain, .joint = -1};
  g->work[v] = w;
  return v;
}

static void join(graph *g, int32_t from, int32_t to)
{
  zp_hb_graph_join(&g->p.graph, from, to, 0);
}

static void run(graph *g)
{
  const zp_times times = {g->begin, g->end};
  cr_assert_eq(zp_hb_graph_sort(&g->p.graph), 0);
  cr_assert_eq(zp_simulate(&g->p, g->work, &times), 0);
}

static void close_graph(graph *g)
{
  zp_hb_graph_free(&g->p.graph);
  free(g);
}

static int is_close(double a, double b)
{
  return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static zp_work compute(double seconds)
{
  return (zp_work){.seconds = seconds, .use = {1, 0.25}};
}

static zp_work kernel(double fixed, double seconds)
{
  return (zp_work){.fixed = fixed, .seconds = seconds, .use = {0.5, 1}};
}

static zp_work comm(double seconds)
{
  return (zp_work){.comm = 1, .seconds = seconds, .use = {0.2, 0.5}};
}

/* ---- By hand --------------------------------------------------------------------------------- */

/* Multiprocessors: 1.5 are wanted, so both run at 2/3; the kernel ends at 1.5 s, when forward has
 * done 1 of 2 s. */
Test(cost, a_kernel_beside_compute_slows_both)
{
  graph *g = open_graph(1);
  const int32_t a = add(g, 0, 0, compute(2)), b = add(g, 0, 1, kernel(0, 1));
  run(g);
  cr_assert(is_close(g->end[b], 1.5), "%.9g", g->end[b]);
  cr_assert(is_close(g->end[a], 2.5), "%.9g", g->end[a]);
  close_graph(g);
}

Test(cost, two_kernels_share_the_memory)
{
  graph *g = open_graph(1);
  const int32_t a = add(g, 0, 0, kernel(0, 1)), b = add(g, 0, 1, kernel(0.5, 1));
  run(g);
  cr_assert(is_close(g->begin[b], 0), "%.9g", g->begin[b]);
  cr_assert(is_close(g->end[a], 1.5), "%.9g", g->end[a]);
  cr_assert(is_close(g->end[b], 2), "%.9g", g->end[b]);
  close_graph(g);
}

/* Communication keeps its blocks: compute runs at 0.8 beside it. */
Test(cost, a_communication_takes_its_multiprocessors_first)
{
  graph *g = open_graph(1);
  const int32_t a = add(g, 0, 0, compute(2)), joint = add(g, 0, -1, comm(1));
  const int32_t member = add(g, 0, 1, (zp_work){0});
  join(g, joint, member);
  run(g);
  cr_assert(is_close(g->end[joint], 1), "%.9g", g->end[joint]);
  cr_assert(is_close(g->end[member], 1), "%.9g", g->end[member]);
  cr_assert(is_close(g->end[a], 2.2), "%.9g", g->end[a]);
  close_graph(g);
}

/* In its latency it occupies its blocks and no memory: compute runs at 0.8 for 2 s, and the kernel
 * of 1 s at its own rate. */
Test(cost, a_communication_occupies_its_multiprocessors_from_its_beginning)
{
  zp_work late = comm(1);
  late.fixed = 1;
  graph *g = open_graph(1);
  const int32_t a = add(g, 0, 0, compute(2)), joint = add(g, 0, -1, late);
  join(g, joint, add(g, 0, 1, (zp_work){0}));
  run(g);
  cr_assert(is_close(g->end[joint], 2), "%.9g", g->end[joint]);
  cr_assert(is_close(g->end[a], 2.4), "%.9g", g->end[a]);
  close_graph(g);
  g = open_graph(1);
  const int32_t k = add(g, 0, 2, (zp_work){.seconds = 1, .use = {0.5, 1}});
  const int32_t slow = add(g, 0, -1, late);
  join(g, slow, add(g, 0, 1, (zp_work){0}));
  run(g);
  cr_assert(is_close(g->end[k], 1), "%.9g", g->end[k]);
  cr_assert(is_close(g->end[slow], 2), "%.9g", g->end[slow]);
  close_graph(g);
}

/* The memory of one of both ranks is shared with a kernel: there 1.5 are wanted. */
Test(cost, a_communication_runs_at_the_lowest_rate_of_its_members)
{
  for (int32_t busy = 0; busy < 2; busy++) {
    graph *g = open_graph(2);
    const int32_t joint = add(g, 0, -1, comm(1));
    const int32_t k = add(g, busy, CHAINS * busy, kernel(0, 4));
    for (int32_t r = 0; r < 2; r++) join(g, joint, add(g, r, CHAINS * r + 1, (zp_work){0}));
    run(g);
    cr_assert(is_close(g->end[joint], 1.5), "%.9g", g->end[joint]);
    cr_assert(is_close(g->end[k], 4.5), "%.9g", g->end[k]);
    close_graph(g);
  }
}

/* ---- Laws ------------------------------------------------------------------------------------ */

static double part(uint64_t *random)
{
  return (double)(zp_random_next(random) % 1000 + 1) / 1000;
}

static zp_work random_work(uint64_t *random, int is_comm)
{
  return (zp_work){.comm = is_comm,
                   .fixed = zp_random_next(random) % 3 ? 0 : part(random),
                   .seconds = zp_random_next(random) % 5 ? 3 * part(random) : 0,
                   .use = {is_comm ? part(random) / 2 : part(random), part(random)}};
}

/* Streams of two ranks with random edges, and communications of both, one at a time. */
static graph *random_graph(uint64_t seed)
{
  uint64_t random = seed;
  graph *g = open_graph(2);
  int32_t last[2 * CHAINS] = {-1, -1, -1, -1, -1, -1}, link[2] = {-1, -1};
  for (int32_t i = 0; i < 90; i++) {
    const int32_t chain = (int32_t)(zp_random_next(&random) % (2 * CHAINS)), before = g->p.graph.n;
    if (zp_random_next(&random) % 5 == 0) {
      const int32_t joint = add(g, 0, -1, random_work(&random, 1)), own = chain % CHAINS;
      for (int32_t r = 0; r < 2; r++) {
        const int32_t v = add(g, r, r * CHAINS + own, (zp_work){0});
        join(g, last[r * CHAINS + own], joint);
        join(g, link[r], joint);
        join(g, joint, v);
        last[r * CHAINS + own] = link[r] = v;
      }
      continue;
    }
    const int32_t v = add(g, chain / CHAINS, chain, random_work(&random, 0));
    join(g, last[chain], v);
    if (before > 0 && zp_random_next(&random) % 3 == 0)
      join(g, (int32_t)(zp_random_next(&random) % (uint64_t)before), v);
    last[chain] = v;
  }
  return g;
}

/* No piece begins before its predecessors have ended or takes less than alone, and no rank uses
 * more of a resource than there is. */
Test(cost, random_graphs_use_no_more_than_there_is)
{
  for (uint64_t seed = 1; seed <= 300; seed++) {
    graph *g = random_graph(seed);
    double used[2][ZP_RESOURCES] = {{0}}, last = 0;
    run(g);
    for (int64_t k = 0; k < g->p.graph.edges; k++) {
      const zp_hb_graph_edge *e = &g->p.graph.edge[k];
      cr_assert(g->begin[e->to] >= g->end[e->from], "seed %d", (int)seed);
      if (g->node[e->from].chain >= 0) continue;
      for (int r = 0; r < ZP_RESOURCES; r++)
        used[g->node[e->to].rank][r] += g->work[e->from].seconds * g->work[e->from].use[r];
    }
    for (int32_t v = 0; v < g->p.graph.n; v++) {
      const zp_work *w = &g->work[v];
      const double took = g->end[v] - g->begin[v];
      /* times are sums of a few numbers of the size of `end`, each rounded once */
      cr_assert(took >= w->fixed + w->seconds - 1e-14 * g->end[v], "seed %d", (int)seed);
      if (last < g->end[v]) last = g->end[v];
      for (int r = 0; r < ZP_RESOURCES && g->node[v].chain >= 0; r++)
        used[g->node[v].rank][r] += w->seconds * w->use[r];
    }
    for (int i = 0; i < 4; i++)
      cr_assert(used[i / 2][i % 2] <= last * (1 + 1e-9), "seed %d: %.9g of %.9g", (int)seed,
                used[i / 2][i % 2], last);
    close_graph(g);
  }
}

/* Where nothing is shared, the simulation is the longest path through the graph. */
Test(cost, without_shared_resources_the_longest_path_remains)
{
  for (uint64_t seed = 1; seed <= 100; seed++) {
    graph *g = random_graph(seed);
    int64_t cost[MOST], end[MOST];
    for (int32_t v = 0; v < g->p.graph.n; v++) {
      zp_work *w = &g->work[v];
      *w = (zp_work){.comm = w->comm, .seconds = round(8 * w->seconds)};
      cost[v] = (int64_t)w->seconds;
    }
    run(g);
    zp_hb_graph_ends(&g->p.graph, cost, NULL, end);
    for (int32_t v = 0; v < g->p.graph.n; v++)
      cr_assert(g->end[v] == (double)end[v], "seed %d, node %d", (int)seed, (int)v);
    close_graph(g);
  }
}

/* ---- A plan ---------------------------------------------------------------------------------- */

enum { NUMEL = 1 << 16 };

static int32_t offload; /* of the jobs that are timed */

/* sums: 0 native, 1 ordered, 2 exact. */
static zp_time_report time_of(int32_t stage, int32_t dp, int64_t mb, int32_t sums)
{
  static zp_param params[4] = {{.numel = NUMEL, .tied = -1},
                               {.numel = NUMEL, .tied = -1},
                               {.numel = NUMEL, .tied = -1},
                               {.numel = NUMEL, .tied = -1}};
  const zp_config cfg = {.pp = 1,
                         .dp = dp,
                         .tp = 1,
                         .ep = 1,
                         .stage = stage,
                         .micro_batches = mb,
                         .bucket = NUMEL,
                         .align = 1,
                         .precision = ZP_BF16,
                         .reduce = sums == 2 ? ZP_EXACT : ZP_ORDERED,
                         .n_params = 4,
                         .optgroups = 1,
                         .params = params};
  const zp_hyper hyper = {0};
  const zp_time_job job = {.cfg = &cfg,
                           .hyper = &hyper,
                           .native = sums == 0,
                           .offload = offload,
                           .tokens = 64,
                           .activation_bytes = 1};
  zp_time_report r;
  zp_error err = {0};
  cr_assert_eq(zp_cost_time(&job, &r, &err), 0, "%s", err.text);
  return r;
}

static double bytes_of(const zp_time_report *r, int sent)
{
  double sum = 0;
  for (int32_t i = 0; i < r->works; i++) sum += sent ? r->work[i].wire : r->work[i].bytes;
  return sum;
}

/* Bytes a parameter at stage 2: a gradient is copied (4; native: widened, 6); ordered and exact:
 * all members' parts are read (2) and added to the shard's sum (4 or 40). Gathers write the
 * parameters. Of a shard the sums are read for the norm, which with exact sums stores the means
 * (4), and all is updated (30). A further micro-batch copies again, and reads and writes the sum
 * (native: reads what arrived, too). */
Test(cost, bytes_of_a_step_at_stage_2)
{
  for (int32_t dp = 2; dp <= 8; dp *= 2)
    for (int32_t sums = 0; sums < 3; sums++) {
      const zp_time_report one = time_of(2, dp, 1, sums), four = time_of(2, dp, 4, sums);
      const double n = 4 * NUMEL, sum = sums == 2 ? 40 : 4;
      const double copy = sums == 0 ? 6 : 4, first = sums == 0 ? 0 : 2 + sum / dp;
      const double later = sums == 0 ? 12.0 / dp : 2 + 2 * sum / dp;
      const double bytes = copy + first + (sum + (sums == 2 ? 4 : 0) + 30) / dp;
      cr_assert(is_close(bytes_of(&one, 0) / n, bytes), "%.9g", bytes_of(&one, 0) / n);
      cr_assert(is_close(bytes_of(&four, 0) / n, bytes + 3 * (copy + later)));
    }
}

/* At stages 0 and 1 each micro-batch is added to the window's sums; limbs are normalized (2 · 72),
 * ordered sums read all members' parts (4 each) and write one. At stage 0 all ranks read all sums
 * and update all. */
Test(cost, bytes_of_a_step_at_stages_0_and_1)
{
  for (int32_t dp = 2; dp <= 8; dp *= 2)
    for (int32_t stage = 0; stage < 2; stage++)
      for (int32_t sums = 0; sums < 3; sums++) {
        const zp_time_report r = time_of(stage, dp, 2, sums);
        const double sum = sums == 2 ? 72 : 4, mean = sums == 2 ? 4 : 0,
                     held = stage == 0 ? 1 : 1.0 / dp;
        const double added = sums == 0 ? 0 : sums == 1 ? 4 * (dp + 1.0) / dp : 144;
        const double bytes = (2 + sum) + (2 + 2 * sum) + added + held * (sum + mean + 30);
        cr_assert(is_close(bytes_of(&r, 0) / (4 * NUMEL), bytes), "%.9g, not %.9g",
                  bytes_of(&r, 0) / (4 * NUMEL), bytes);
      }
}

/* A reduce-scatter of fp32 and an all-gather of bf16; statistics are 47 words, in a ring of two
 * rounds. */
Test(cost, bytes_that_a_rank_sends)
{
  for (int32_t dp = 2; dp <= 8; dp *= 2) {
    const zp_time_report r = time_of(2, dp, 1, 0);
    const double others = (dp - 1.0) / dp;
    cr_assert(is_close(bytes_of(&r, 1), others * (4.0 * NUMEL * (4 + 2) + 2 * 47 * 8)));
  }
}

static double seconds_of(const zp_time_report *r, const char *name)
{
  for (int32_t i = 0; i < r->works; i++)
    if (strcmp(r->work[i].name, name) == 0) return r->work[i].seconds;
  return 0;
}

static double figure_of(const zp_time_report *r, const char *key)
{
  for (int32_t i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].key, key) == 0) return r->figure[i].value;
  cr_assert(0, "%s", key);
  return 0;
}

/* 16 ranks on two nodes: small buckets, so protocol LL128 is the faster one. Four all-gathers of 15
 * hops, of which one crosses the network; a node has 8 ports. */
Test(cost, gathers_over_two_nodes)
{
  const zp_time_report r = time_of(2, 16, 1, 0);
  const double ports = 8 * figure_of(&r, "network"), link = figure_of(&r, "link");
  const double bandwidth = (ports < link ? ports : link) * figure_of(&r, "ll128_share");
  const double one = figure_of(&r, "ll128_start") + 14 * figure_of(&r, "ll128_link_hop") +
                     figure_of(&r, "ll128_network_hop") + NUMEL * 2.0 * 15 / 16 / bandwidth;
  cr_assert(is_close(seconds_of(&r, "gathers of parameters"), 4 * one), "%.9g",
            seconds_of(&r, "gathers of parameters"));
}

/* Ordered: 8 of the 15 parts that a rank sends leave its node, through its own port. */
Test(cost, parts_over_two_nodes)
{
  const zp_time_report r = time_of(2, 16, 1, 1);
  const double across = NUMEL * 2.0 * 8 / 16 / figure_of(&r, "network");
  const double one = figure_of(&r, "start") + figure_of(&r, "network_hop") + across;
  cr_assert(is_close(seconds_of(&r, "reductions of gradients"), 4 * one), "%.9g",
            seconds_of(&r, "reductions of gradients"));
}

/* Of the rank's share: fp32 gradients leave, parameters of 2 bytes come back, and the host moves 28
 * bytes and the parameter's. At stage 0, landing buffers are copied to the parameters. */
Test(cost, bytes_of_offload)
{
  offload = 1;
  for (int32_t stage = 0; stage <= 2; stage++)
    for (int32_t sums = 0; sums < 3; sums++) {
      const zp_time_report r = time_of(stage, 4, 1, sums);
      const double n = stage == 0 ? 4 * NUMEL : NUMEL, kernel = figure_of(&r, "kernel"),
                   link = figure_of(&r, "host_link");
      const double out = seconds_of(&r, "copies to the host"),
                   back = seconds_of(&r, "copies from the host"),
                   update = seconds_of(&r, "update on the host");
      cr_assert(is_close(out, 5 * kernel + 4 * n / link), "%.9g", out);
      cr_assert(is_close(back, 4 * kernel + 2 * n / link), "%.9g", back);
      cr_assert(is_close(update, 30 * n / figure_of(&r, "host_update")), "%.9g", update);
      cr_assert_eq(seconds_of(&r, "update"), 0);
      cr_assert(r.step >= r.bound && r.host <= r.bound && r.offload_exposed > 0);
      cr_assert_eq(seconds_of(&r, "scatter of parameters") > 0, stage == 0);
    }
  offload = 0;
}

Test(cost, a_step_is_at_least_its_bound)
{
  for (int32_t stage = 0; stage <= 2; stage++)
    for (int32_t sums = 0; sums < 3; sums++) {
      const zp_time_report r = time_of(stage, 4, 3, sums);
      cr_assert(r.step >= r.bound && r.bound > 0 && r.exposed >= 0 && r.exposed < r.step);
      for (int32_t i = 0; i < r.figures; i++)
        cr_assert(r.figure[i].less > 0 && r.figure[i].more > 0);
    }
}
