/* `zeroproof counters` for people. */
#include <stdio.h>

#include "counters.h"

static double per(int64_t bytes, const zp_counters *c)
{
  return c->params > 0 ? (double)bytes / (double)c->params : 0;
}

static const char *verdict(double value, double limit)
{
  return value <= limit ? "within" : "EXCEEDS";
}

static const char *goal_verdict(const zp_count_goal *g)
{
  static const char *const names[] = {"within", "EXCEEDS", "-"};
  return names[zp_counters_goal_verdict(g)];
}

/* ---- The table ------------------------------------------------------------------------------- */

/* The columns of the table, by use; "others" are the rest. */
static const int32_t columns[] = {ZP_COUNT_ADD, ZP_COUNT_REDUCE, ZP_COUNT_MEAN, ZP_COUNT_UPDATE,
                                  ZP_COUNT_GATHER};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double device_of(const zp_counters *c, int32_t use)
{
  return per(c->bytes[use].device_read + c->bytes[use].device_written, c);
}

static void print_goal_summary(const zp_count_goal *g)
{
  if (g->known)
    printf(" %7.3f %7.3f %7.3f  %s\n", (double)g->used / g->params, g->bytes / g->params,
           (double)g->allowance / g->params, goal_verdict(g));
  else printf(" %7s %7s %7s  -\n", "-", "-", "-");
}

static void print_summary(const zp_counters_row *r)
{
  const zp_counters *c = &r->counted;
  const double own = per(zp_counters_own_bytes(c), c), ratio = zp_counters_ratio(&r->counted);
  const int64_t launches = zp_counters_own_launches(c);
  const int64_t bound = zp_counters_launch_bound(c, &r->cfg, r->native, r->offload);
  double others = own;
  printf("  %-8s %5d %3lld %-13s %8.3f %8.3f %7.4f  %-7s", zp_counters_sums(&r->cfg, r->native),
         (int)r->cfg.stage, (long long)r->cfg.micro_batches,
         zp_counters_gradients(r->gradients, r->in_place), c->ideal, own, ratio,
         verdict(ratio, ZP_COUNTERS_RATIO));
  for (int32_t i = 0; i < COLUMNS; i++) {
    printf(" %7.3f", device_of(c, columns[i]));
    others -= device_of(c, columns[i]);
  }
  printf(" %7.3f %8.3f %6lld %6lld  %-7s", others,
         device_of(c, ZP_COUNT_COPIED) + device_of(c, ZP_COUNT_STAGED), (long long)launches,
         (long long)bound, verdict((double)launches, (double)bound));
  print_goal_summary(&c->goal);
}

void zp_counters_print_summary(const zp_counters_row *row, int32_t n)
{
  printf(
      "A training step: bytes of device memory a parameter that the engine's own kernels, copies "
      "and memsets\naccess, how many of them it launches, and bytes of device memory a parameter "
      "that "
      "the fullest rank needs\n\n"
      "  sums     stage   M gradients        ideal      own   ratio  <= %.2f",
      ZP_COUNTERS_RATIO);
  for (int32_t i = 0; i < COLUMNS; i++) printf(" %7s", zp_count_use_name(columns[i]));
  printf("  others   copied launch  bound           memory    goal       b\n");
  for (int32_t i = 0; i < n; i++) print_summary(&row[i]);
  printf("\n");
}

/* ---- One configuration ----------------------------------------------------------------------- */

static void print_bytes(const char *name, const zp_count_bytes *b, const zp_counters *c)
{
  const int64_t both = b->device_read + b->device_written;
  printf("    %-24s %10.4f %10.4f %10.4f %14lld %14lld", name, per(b->device_read, c),
         per(b->device_written, c), per(both, c), (long long)b->device_read,
         (long long)b->device_written);
  if (b->pinned_read + b->pinned_written > 0)
    printf(" %12lld %12lld", (long long)b->pinned_read, (long long)b->pinned_written);
  printf("\n");
}

static int is_empty(const zp_count_bytes *b)
{
  return b->device_read + b->device_written + b->pinned_read + b->pinned_written == 0;
}

static void print_traffic(const zp_counters_row *r)
{
  const zp_counters *c = &r->counted;
  const double ratio = zp_counters_ratio(&r->counted);
  const int64_t own = zp_counters_own_bytes(c);
  printf("  %-26s %32s %29s %25s\n    %-24s %10s %10s %10s %14s %14s %12s %12s\n", "Traffic",
         "bytes a parameter", "bytes of all ranks", "of pinned memory", "", "read", "written",
         "both", "read", "written", "read", "written");
  for (int32_t u = ZP_COUNT_OWN; u < ZP_COUNT_USES; u++)
    if (!is_empty(&c->bytes[u])) print_bytes(zp_count_use_name(u), &c->bytes[u], c);
  printf("    %-24s %32.4f %29lld", "own work", per(own, c), (long long)own);
  if (ratio >= 0)
    printf("  = %.4f of the ideal %.4f: %s %.2f", ratio, c->ideal,
           verdict(ratio, ZP_COUNTERS_RATIO), ZP_COUNTERS_RATIO);
  printf("\n");
  for (int32_t u = 0; u < ZP_COUNT_OWN; u++)
    if (!is_empty(&c->bytes[u])) print_bytes(zp_count_use_name(u), &c->bytes[u], c);
  print_bytes("buffers of NCCL", &c->nccl, c);
  printf("    %-24s %32.4f %29lld\n", "sent to other ranks", per(c->wire, c), (long long)c->wire);
}

static void print_uses(const zp_counters *c, int32_t from, int32_t to)
{
  for (int32_t u = from; u < to; u++) {
    const zp_count_launches *l = &c->launches[u];
    if (l->kernels + l->copies + l->memsets > 0)
      printf("    %-24s %10lld %10lld %10lld\n", zp_count_use_name(u), (long long)l->kernels,
             (long long)l->copies, (long long)l->memsets);
  }
}

static void print_launches(const zp_counters_row *r)
{
  const zp_counters *c = &r->counted;
  const int64_t own = zp_counters_own_launches(c);
  const int64_t bound = zp_counters_launch_bound(c, &r->cfg, r->native, r->offload);
  const int64_t more = zp_counters_launches_of_further_sum(&r->cfg, r->native) * c->further_sums;
  printf("  Launches of rank %-9d %12s %10s %10s\n", (int)c->rank, "kernels", "copies", "memsets");
  print_uses(c, ZP_COUNT_OWN_LAUNCHES, ZP_COUNT_USES);
  printf("    %-24s %10lld of at most %lld = 2B + 2MB + 10%s", "own work", (long long)own,
         (long long)bound, r->offload ? " + B (offload)" : "");
  if (more > 0) printf(" + %lld (further sums)", (long long)more);
  printf(": %s\n", verdict((double)own, (double)bound));
  print_uses(c, 0, ZP_COUNT_OWN_LAUNCHES);
  printf("    %-24s %10lld\n    %-24s %10lld\n", "communications", (long long)c->communications,
         "words (progress)", (long long)c->words);
}

static void print_host(const zp_counters *c)
{
  const zp_count_host *h = &c->host;
  printf("  Host of rank %-13d %12s %10s\n", (int)c->rank, "calls", "locks");
  printf("    %-24s %10lld %10lld\n", "an announcement, at most", (long long)h->most_calls,
         (long long)h->most_locks);
  printf("    all %-6lld announcements %9lld %10lld\n", (long long)h->announcements,
         (long long)h->announced_calls, (long long)h->announced_locks);
  printf("    %-24s %10lld %10lld\n", "the step, with them", (long long)h->step_calls,
         (long long)h->step_locks);
  for (int32_t i = 0; i < c->calls; i++)
    printf("      %-22s %10lld\n", c->call[i].name, (long long)c->call[i].calls);
  printf("    made after the first step: %lld allocations, streams, events, communicators%s\n",
         (long long)c->created, c->created > 0 ? ": EXPECTED 0" : "");
}

static void print_counted(const char *name, int64_t engine, int64_t simdev, int64_t peak,
                          const zp_counters *c)
{
  printf("    %-24s %10.4f %10s %14s %14lld; simdev: %lld, at most %lld: %s\n", name,
         per(engine, c), "", "", (long long)engine, (long long)simdev, (long long)peak,
         engine == simdev && simdev == peak ? "equal" : "DIFFERS");
}

static void print_goal(const zp_count_goal *g)
{
  const zp_count_verdict verdict = zp_counters_goal_verdict(g);
  if (verdict == ZP_COUNT_NO_GOAL) return;
  printf("    of rank %-16d %10.4f %10s %14s %14lld; goal: %.4f and b, %lld bytes: %s\n",
         (int)g->rank, (double)g->used / g->params, "", "", (long long)g->used,
         g->bytes / g->params, (long long)g->allowance,
         verdict == ZP_COUNT_WITHIN ? "within" : "EXCEEDS");
}

static void print_memory(const zp_counters *c)
{
  int64_t sum = 0;
  printf("  %-26s %10s %10s %14s %14s\n", "Memory", "a param.", "", "planned", "allocated");
  for (int32_t i = 0; i < c->memories; i++) {
    const zp_count_memory *m = &c->memory[i];
    char planned[24] = "-";
    sum += m->allocated;
    if (m->allocated == 0 && m->planned <= 0) continue;
    if (m->planned >= 0) snprintf(planned, sizeof planned, "%lld", (long long)m->planned);
    printf("    %-24s %10.4f %10s %14s %14lld%s\n", m->name, per(m->allocated, c), "", planned,
           (long long)m->allocated,
           m->planned >= 0 && m->planned != m->allocated ? " DIFFERS" : "");
  }
  print_counted("device memory", sum, c->device, c->device_peak, c);
  print_counted("pinned memory", c->host_allocated, c->pinned, c->pinned_peak, c);
  print_goal(&c->goal);
}

void zp_counters_print(const zp_counters_row *r)
{
  const zp_config *cfg = &r->cfg;
  printf("%s sums, ZeRO stage %d, M = %lld micro-batches, %s, gradients %s%s\n"
         "  pp %d, dp %d, tp %d, ep %d; %lld parameters on %d ranks in all, B = %lld buckets on "
         "rank %d\n",
         zp_counters_sums(&r->cfg, r->native), (int)cfg->stage, (long long)cfg->micro_batches,
         cfg->precision == ZP_BF16  ? "bf16"
         : cfg->precision == ZP_F16 ? "fp16"
                                    : "fp32",
         zp_counters_gradients(r->gradients, r->in_place), r->offload ? ", offload" : "",
         (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->ep, (long long)r->counted.params,
         (int)r->counted.world, (long long)r->counted.buckets, (int)r->counted.rank);
  print_traffic(r);
  print_launches(r);
  print_host(&r->counted);
  print_memory(&r->counted);
  printf("\n");
}
