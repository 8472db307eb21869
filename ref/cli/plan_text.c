/* `zeroproof plan` for a terminal. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../comm/comm.h"
#include "../engine/window.h"
#include "plan.h"

/* "1.50 GiB". */
static const char *bytes_text(int64_t bytes, char *text, size_t cap)
{
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double v = (double)bytes;
  int u = 0;
  while (v >= 1024 && u < 5) {
    v /= 1024;
    u++;
  }
  snprintf(text, cap, u == 0 ? "%.0f %s" : "%.2f %s", v, units[u]);
  return text;
}

static void print_header(const zp_options *o, const zp_config *cfg)
{
  char text[32], slots[32] = "";
  if (o->hyper.slots > 0 && cfg->stage == 2)
    snprintf(slots, sizeof slots, ", slots %d", (int)o->hyper.slots);
  printf("pp %d × dp %d × tp %d (ep %d%s) = %d ranks, ZeRO stage %d, %lld micro-batches, %s%s, "
         "%s reduction, buckets of %lld elements%s\n\n",
         (int)cfg->pp, (int)cfg->dp, (int)cfg->tp, (int)cfg->ep,
         zp_replicas_text(zp_replicas(&o->hyper), text), (int)zp_world(cfg), (int)cfg->stage,
         (long long)cfg->micro_batches, zp_precision_name(cfg->precision),
         zp_gradients_text(&o->hyper), zp_reduce_name(cfg->reduce), (long long)cfg->bucket, slots);
}

/* What the CUDA engine has on a GPU: all but the programs and scratch for limbs, and gradients
 * before their turn. */
static void print_device(const zp_rank_plan *p)
{
  const zp_config *cfg = &p->block.cfg;
  zp_device_memory m;
  int64_t n = 0, all;
  char text[32];
  if (zp_device_memory_of(&p->block, &p->lay, &m)) return;
  for (int32_t i = 0; i < p->lay.n_params; i++) /* tied ones once */
    if (zp_storage_of(cfg, &p->lay, i) == i)
      n += p->block.job->params[p->lay.first_param + i].numel;
  all = zp_device_memory_total(&p->memory, &m);
  printf("  %-28s %12s\n", "gradients before their turn", bytes_text(m.early, text, sizeof text));
  if (m.limbs > 0)
    printf("  %-28s %12s\n", "limbs, not on a GPU", bytes_text(m.limbs, text, sizeof text));
  printf("  %-28s %12s", "total on a GPU", bytes_text(all, text, sizeof text));
  if (n > 0) printf(", %.3f bytes a parameter", (double)all / (double)n);
  printf("\n");
  if (cfg->reduce == ZP_ORDERED && m.native > 0)
    printf("  %-28s %12s\n", "native sums: more in slots", bytes_text(m.native, text, sizeof text));
}

static void print_memory(const zp_rank_plan *p)
{
  const struct {
    const char *what;
    int64_t bytes;
  } rows[] = {{"parameters", p->memory.params},
              {"window (ZeRO stages 0, 1)", p->memory.window},
              {"bucket slots (ZeRO stage 2)", p->memory.slots},
              {"reduced sums", p->memory.reduced},
              {"mean gradient", p->memory.mean},
              {"masters and moments", p->memory.state},
              {"scratch of one bucket", p->memory.scratch},
              {"copy of a background save", p->snapshot},
              {"programs", p->program},
              {"total, without activations", p->total}};
  char text[32];
  printf("\nMemory\n");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].bytes > 0)
      printf("  %-28s %12s\n", rows[i].what, bytes_text(rows[i].bytes, text, sizeof text));
  print_device(p);
}

const char *zp_plan_warning(const zp_config *cfg, const zp_rank_plan *p, char text[256])
{
  char bytes[32];
  if (cfg->reduce != ZP_EXACT || cfg->stage == 2 || p->memory.window == 0) return NULL;
  snprintf(text, 256,
           "exact sums of %d bytes an element take %s of rank %d's memory: at ZeRO stages 0 and 1 "
           "they are kept of all elements. --stage 2 keeps them of the rank's shard, "
           "--reduce ordered has 4 bytes an element",
           ZP_LIMBS * 8, bytes_text(p->memory.window + p->memory.reduced, bytes, sizeof bytes),
           (int)p->rank);
  return text;
}

static void print_warning(const zp_config *cfg, const zp_rank_plan *p)
{
  char text[256];
  if (zp_plan_warning(cfg, p, text) != NULL) printf("\nWarning: %s.\n", text);
}

static void print_flats(const zp_options *o, const zp_config *cfg, const zp_rank_plan *p)
{
  printf("Partition of pipeline stage %d\n", (int)p->at.pp);
  printf("  flat  over  optgroup  dtype  tied  %14s  %8s  %12s  %12s\n", "elements", "buckets",
         "part", "shard");
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    char tied[16] = "-";
    if (f->tied >= 0) snprintf(tied, sizeof tied, "%d", (int)f->tied);
    printf("  %4d  %4s  %8d  %5s  %4s  %14lld  %8lld  %12lld  %12lld\n", (int)k,
           zp_group_name(f->group), (int)f->optgroup,
           zp_precision_name(zp_dtype_of(f->fp32, cfg->precision)), tied, (long long)f->numel,
           (long long)zp_buckets(f), (long long)(f->numel > 0 ? zp_part(f, 0) : 0),
           (long long)zp_shard(f));
  }
  printf("\nEntries, in backward order\n");
  for (int32_t i = p->lay.n_params - 1; i >= 0; i--) {
    const int32_t j = p->lay.first_param + i;
    const zp_param *q = &cfg->params[j];
    const zp_spot *s = &p->lay.spot[i];
    char where[96] = "frozen";
    if (s->flat >= 0 && q->numel > 0)
      snprintf(where, sizeof where, "flat %d from %lld, buckets %lld to %lld", (int)s->flat,
               (long long)s->start, (long long)(s->start / p->lay.flat[s->flat].capacity),
               (long long)((s->start + q->numel - 1) / p->lay.flat[s->flat].capacity));
    printf("  %5d  %-28s %14lld  %s%s%s\n", (int)j, o->names != NULL ? o->names[j] : "",
           (long long)q->numel, where, q->sharded ? ", sharded" : "", q->expert ? ", expert" : "");
  }
}

static void print_run(void *ctx, const zp_shard_run *r)
{
  const zp_options *o = ctx;
  printf("    %8lld  %12lld  %10lld  %5d  %-28s %14lld\n", (long long)r->bucket,
         (long long)r->shard_offset, (long long)r->count, (int)r->entry,
         o->names != NULL ? o->names[r->entry] : "", (long long)r->offset);
}

/* spec: PART-4 … PART-6 */
static void print_shards(const zp_options *o, const zp_rank_plan *p)
{
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    const zp_flat *f = &p->lay.flat[k];
    const int64_t n = zp_buckets(f);
    printf("\nShard map of flat %d: part %d of each bucket\n", (int)k,
           (int)zp_rank_plan_owner(p, k));
    for (int64_t b = 0; b < n; b++) {
      if (b > 0 && b < n - 1) continue; /* like the first */
      printf("  bucket %lld: %lld elements, padded to %lld, parts of %lld\n", (long long)b,
             (long long)zp_bucket_numel(f, b), (long long)zp_bucket_padded(f, b),
             (long long)zp_part(f, b));
      if (b == 0 && n > 2) printf("  … to bucket %lld the same\n", (long long)(n - 2));
    }
    printf("    %8s  %12s  %10s  %5s  %-28s %14s\n", "bucket", "shard offset", "elements", "entry",
           "", "from element");
    zp_rank_plan_runs(p, k, print_run, (void *)(uintptr_t)o);
  }
}

static void print_ops(const zp_rank_plan *p)
{
  char text[256];
  printf("\n    position   clock                   group  op\n");
  for (int64_t i = 0; i < p->n; i++) {
    const zp_op *op = &p->op[i];
    if (op->kind < ZP_OP_FIRST_COMM) continue;
    zp_op_describe(op, text, sizeof text);
    printf("    %8lld  %4lld.%-16lld  %5s  %s\n", (long long)i, (long long)op->clock_t,
           (long long)op->clock_i, zp_group_name(op->group), text);
  }
  printf("\n");
}

/* The programs one after the other: init (creation of communicators, first broadcasts), step, save,
 * load. */
static int print_ledger(const zp_options *o, zp_rank_plan *p, int32_t ledger)
{
  char text[32];
  zp_error err = {0};
  printf("\nLedger\n");
  for (int32_t phase = 0; phase < ZP_PHASES; phase++) {
    if (zp_rank_plan_phase(p, phase, &err) != 0) return zp_options_report(o, &err);
    printf("  %s (%lld ops in the program)\n", zp_phase_name(phase), (long long)p->n);
    for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) {
      const int64_t ops = p->ledger[phase][g].ops;
      if (ops == 0) continue;
      printf("    %-6s %8lld ops", zp_group_name(g), (long long)ops);
      if (g != ZP_GROUP_PP)
        printf("  sends %s", bytes_text(p->ledger[phase][g].bytes, text, sizeof text));
      printf("\n");
    }
    if (ledger) print_ops(p);
  }
  return 0;
}

static int print_rank(const zp_options *o, const zp_config *cfg, zp_rank_plan *p, int32_t ledger,
                      int32_t shards)
{
  print_header(o, cfg);
  printf("Rank %d: pp %d, dp %d, tp %d\n\n", (int)p->rank, (int)p->at.pp, (int)p->at.dp,
         (int)p->at.tp);
  print_flats(o, cfg, p);
  print_memory(p);
  print_warning(cfg, p);
  if (shards) print_shards(o, p);
  return print_ledger(o, p, ledger);
}

int zp_plan_print_rank(const zp_options *o, const zp_config *cfg, int32_t rank, int32_t ledger,
                       int32_t shards)
{
  zp_rank_plan p;
  zp_error err = {0};
  const int code = zp_plan_open(&p, o, cfg, rank, &err) != 0
                       ? zp_options_report(o, &err)
                       : print_rank(o, cfg, &p, ledger, shards);
  zp_rank_plan_close(&p);
  return code;
}

/* Different optimizer groups among a stage's entries. */
static int32_t groups_of(const zp_rank_plan *p)
{
  int32_t n = 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    int32_t i = 0;
    while (i < k && p->lay.flat[i].optgroup != p->lay.flat[k].optgroup) i++;
    n += i == k;
  }
  return n;
}

static void print_stage(const zp_config *cfg, const zp_rank_plan *p)
{
  char sends[32], memory[32];
  int64_t elements = 0, buckets = 0, bytes = 0;
  for (int32_t k = 0; k < p->lay.n_flats; k++) {
    elements += p->lay.flat[k].numel;
    buckets += zp_buckets(&p->lay.flat[k]);
  }
  for (int32_t g = 0; g < ZP_ALL_GROUPS; g++) bytes += p->ledger[ZP_PHASE_STEP][g].bytes;
  printf("%5d  %7lld  %d  %7d  %14lld  %8lld  %5lld  %8lld  %10s  %10s\n", (int)p->at.pp,
         (long long)cfg->dp * cfg->tp, (int)groups_of(p), (int)p->lay.n_params, (long long)elements,
         (long long)buckets, (long long)zp_alive(cfg->pp, cfg->micro_batches, p->at.pp),
         (long long)p->n, bytes_text(bytes, sends, sizeof sends),
         bytes_text(p->total, memory, sizeof memory));
}

int zp_plan_print_all(const zp_options *o, const zp_config *cfg)
{
  const int32_t shown = cfg->pp < 64 ? cfg->pp : 64;
  char warning[256] = "";
  print_header(o, cfg);
  printf("stage    ranks  K  entries        elements   buckets  alive  ops/step  %10s  %10s\n",
         "sends", "memory");
  for (int32_t s = 0; s < shown; s++) {
    zp_rank_plan p;
    zp_error err = {0};
    const int32_t rank = zp_rank_of(cfg, (zp_coord){s, 0, 0});
    int status = zp_plan_open(&p, o, cfg, rank, &err);
    if (status == 0) status = zp_rank_plan_phase(&p, ZP_PHASE_STEP, &err);
    if (status == 0) {
      print_stage(cfg, &p);
      if (warning[0] == '\0') zp_plan_warning(cfg, &p, warning);
    }
    zp_rank_plan_close(&p);
    if (status != 0) return zp_options_report(o, &err);
  }
  if (shown < cfg->pp) printf("  … and %d stages more\n", (int)(cfg->pp - shown));
  printf("\nK: optimizer groups. sends, memory: of one rank of the stage, without activations.\n");
  if (warning[0] != '\0') printf("\nWarning: %s.\n", warning);
  return 0;
}
