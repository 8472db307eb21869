/* kernel_check ROUNDS SEED: runs every kernel of the engine on the device, and the same source
 * compiled by the C compiler on the host, from the same bytes. Afterwards all memory must be equal,
 * also memory that is not written, except for the bits of NaN results (NUM-4). Prints one line of
 * JSON. Exit codes: 0: equal; 1: not equal; 3: no device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../ref/comm/comm.h"
#include "../verify/same_bits.h"
#include "kernel_check.h"

enum { ROOM = 16 << 10, SLOTS = 6 };

/* ---- Random bytes ---------------------------------------------------------------------------- */

static uint64_t next(uint64_t *state)
{
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int64_t below(uint64_t *state, int64_t n)
{
  return (int64_t)(next(state) % (uint64_t)n);
}

/* kind 0: close to one, 1: any finite, 2: some infinite, 3: any bits. */
static uint32_t pattern_of(uint64_t *state, int32_t dtype, int kind)
{
  uint32_t u = (uint32_t)next(state);
  if (dtype == ZP_F32) {
    if (kind == 0) return (u & 0x807fffffu) | (124 + u % 8u) << 23;
    if ((u >> 23 & 255) == 255 && kind < 3) u &= kind == 2 ? 0xff800000u : 0xbfffffffu;
    return u;
  }
  if (dtype == ZP_BF16) return pattern_of(state, ZP_F32, kind) >> 16;
  u &= 0xffff;
  if (kind == 0) return (u & 0x83ffu) | (12 + u % 6u) << 10;
  if ((u >> 10 & 31) == 31 && kind < 3) u &= kind == 2 ? 0xfc00u : 0xbfffu;
  return u;
}

static void fill(uint64_t *state, int32_t dtype, int kind, void *to, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    const uint32_t u = pattern_of(state, dtype, kind);
    if (dtype == ZP_F32) ((uint32_t *)to)[i] = u;
    else ((uint16_t *)to)[i] = (uint16_t)u;
  }
}

/* ---- One case -------------------------------------------------------------------------------- */

/* Memory of a case: the host's copy, the device's, and the device's result. */
typedef struct place {
  char *host, *device, *back;
  size_t bytes;
} place;

/* The type of results that the kernel computes in a slot: fp32 or the update's dtype. All other
 * bytes must be equal. NUM-4 */
typedef enum result { BYTES, FP32, OF_UPDATE } result;

typedef struct check {
  const char *name;
  const void *device; /* handles */
  const simdev_kernel *host;
  /* Fills the host's copy; the parameters, with pointers to `base`; the launch. */
  zp_launch (*make)(uint64_t *state, char *host, char *base, void *params);
  result in[SLOTS];
} check;

enum { SLOT = ROOM * 72 };

static char *slot(char *base, int k)
{
  return base + (size_t)k * SLOT;
}

static int64_t some_count(uint64_t *state)
{
  static const int64_t odd[] = {1, 2, 3, 5, 7, 31, 33, 255, 257, 4095, 4096, 4097};
  const int64_t k = below(state, 16);
  return k < 12 ? odd[k] : 1 + below(state, ROOM - 64);
}

/* Runs over slots `in` and `out`: up to 16 pieces at odd offsets. */
static void make_runs(uint64_t *state, char *base, int in, int out, int64_t in_size,
                      int64_t out_size, zp_memory_runs *runs)
{
  int64_t at = below(state, 5);
  runs->n = 1 + (int32_t)below(state, ZP_RUNS_HERE);
  for (int32_t i = 0; i < runs->n; i++) {
    zp_memory_run *r = &runs->here[i];
    const int64_t most = (ROOM - 64 - at) / (runs->n - i);
    r->count = most > 0 ? below(state, most + 1) : 0;
    r->in = slot(base, in) + at * in_size;
    r->out = slot(base, out) + at * out_size;
    r->at = at;
    at += r->count + below(state, 3);
  }
  runs->tiles = zp_runs_lay(runs->here, runs->n);
}

static zp_launch gather(uint64_t *state, char *host, char *base, void *params, int how)
{
  zp_gather_params *p = params;
  p->dtype = (int32_t)below(state, 3);
  p->first = (int32_t)below(state, 2);
  const int64_t size = zp_dtype_bytes(p->dtype);
  const int64_t out = how == 0 ? size : how == 1 ? 4 : 72;
  fill(state, p->dtype, (int)below(state, 4), slot(host, 0), ROOM);
  if (how == 1) fill(state, ZP_F32, (int)below(state, 4), slot(host, 1), ROOM);
  p->nonfinite = (int64_t *)(void *)slot(base, 2);
  make_runs(state, base, 0, 1, size, out, &p->runs);
  if (below(state, 3) == 0) p->runs.here[below(state, p->runs.n)].in = NULL;
  return how == 2 ? zp_launch_limb_runs(p->runs.here, p->runs.n)
                  : zp_launch_runs(p->runs.here, p->runs.n);
}

static zp_launch make_copy(uint64_t *s, char *host, char *base, void *params)
{
  return gather(s, host, base, params, 0);
}

static zp_launch make_ordered(uint64_t *s, char *host, char *base, void *params)
{
  return gather(s, host, base, params, 1);
}

static zp_launch make_exact(uint64_t *s, char *host, char *base, void *params)
{
  return gather(s, host, base, params, 2);
}

static zp_launch make_scatter(uint64_t *state, char *host, char *base, void *params)
{
  zp_scatter_params *p = params;
  p->bytes = below(state, 2) ? 4 : 2;
  fill(state, ZP_F32, 3, slot(host, 0), ROOM);
  make_runs(state, base, 0, 1, p->bytes, p->bytes, &p->runs);
  return zp_launch_runs(p->runs.here, p->runs.n);
}

static zp_launch make_squares(uint64_t *state, char *host, char *base, void *params)
{
  zp_squares_params *p = params;
  p->dtype = (int32_t)below(state, 3);
  fill(state, p->dtype, (int)below(state, 4), slot(host, 0), ROOM);
  p->tally = (zp_tally *)(void *)slot(base, 1);
  p->nonfinite = (int64_t *)(void *)slot(base, 2);
  make_runs(state, base, 0, 3, zp_dtype_bytes(p->dtype), 4, &p->runs);
  p->lanes = zp_squares_lanes(p->runs.here, p->runs.n);
  return zp_launch_squares(p->runs.here, p->runs.n);
}

static zp_launch add(uint64_t *state, char *host, char *base, void *params, int kind)
{
  zp_add_params *p = params;
  p->dtype = (int32_t)below(state, 3);
  p->members = 1 + (int32_t)below(state, 9);
  p->own = (int32_t)below(state, p->members + 1) - 1;
  p->first = (int32_t)below(state, 2);
  p->n = some_count(state) / p->members + 1;
  const int64_t size = zp_dtype_bytes(p->dtype);
  p->stride = p->n * size;
  fill(state, p->dtype, kind, slot(host, 0), p->n * p->members);
  fill(state, p->dtype, kind, slot(host, 1), p->n);
  p->parts = slot(base, 0);
  p->own_in = slot(base, 1);
  p->out = slot(base, 2);
  return zp_launch_elements(p->n);
}

static zp_launch make_add_ordered(uint64_t *state, char *host, char *base, void *params)
{
  const int kind = (int)below(state, 4);
  fill(state, ZP_F32, kind, slot(host, 2), ROOM);
  return add(state, host, base, params, kind);
}

/* All words are the limbs of some packed sum. */
static void fill_packed(uint64_t *state, char *to, int64_t n)
{
  for (int64_t i = 0; i < 10 * n; i++) {
    uint32_t word = (uint32_t)next(state);
    if (i >= 8 * n) word = i % 2 == 0 ? word : 0; /* small top limbs */
    memcpy(to + i * 4, &word, sizeof word);
  }
}

static zp_launch make_add_packed(uint64_t *state, char *host, char *base, void *params)
{
  zp_add_params *p = params;
  add(state, host, base, params, 0);
  fill_packed(state, slot(host, 2), p->n);
  p->f16 = p->dtype == ZP_F16;
  if (below(state, 3) != 0) return zp_launch_limbs(p->n, 1);
  p->dtype = ZP_I64; /* a further use of a tied key */
  p->members = 1;
  p->own = 0;
  fill_packed(state, slot(host, 1), p->n);
  return zp_launch_limbs(p->n, 2);
}

/* Limbs below 2^32, the last one small, as after normalization. */
static void fill_limbs(uint64_t *state, char *to, int64_t n, int wide)
{
  for (int64_t i = 0; i < n * 9; i++) {
    int64_t limb = (int64_t)(next(state) >> (wide ? 24 : 33));
    if (i % 9 == 8) limb %= 1 << 20;
    memcpy(to + i * 8, &limb, sizeof limb);
  }
}

static zp_launch make_add_exact(uint64_t *state, char *host, char *base, void *params)
{
  zp_add_exact_params *p = params;
  p->n = some_count(state);
  fill_limbs(state, slot(host, 0), p->n, 1);
  fill_limbs(state, slot(host, 1), p->n, 1);
  p->part = (const int64_t *)(const void *)slot(base, 0);
  p->sum = (int64_t *)(void *)slot(base, 1);
  return zp_launch_limbs(p->n, 2);
}

static zp_launch make_settle(uint64_t *state, char *host, char *base, void *params)
{
  zp_settle_params *p = params;
  p->n = some_count(state);
  fill_limbs(state, slot(host, 0), p->n, 1);
  p->limbs = (int64_t *)(void *)slot(base, 0);
  return zp_launch_limbs(p->n, 1);
}

static zp_launch mean(uint64_t *state, char *host, char *base, void *params, int limbs)
{
  zp_squares_params *p = params;
  p->divisor = 1 + below(state, 24 * 16);
  if (limbs) fill_limbs(state, slot(host, 0), ROOM, 0);
  else fill(state, ZP_F32, (int)below(state, 4), slot(host, 0), ROOM);
  p->tally = (zp_tally *)(void *)slot(base, 2);
  p->nonfinite = (int64_t *)(void *)slot(base, 3);
  make_runs(state, base, 0, 1, limbs ? 72 : 4, 4, &p->runs);
  for (int32_t i = 0; i < p->runs.n; i++) p->runs.here[i].at = below(state, 2);
  p->lanes = zp_squares_lanes(p->runs.here, p->runs.n);
  return limbs ? zp_launch_mean_exact(p->runs.here, p->runs.n)
               : zp_launch_squares(p->runs.here, p->runs.n);
}

static zp_launch make_mean_ordered(uint64_t *s, char *host, char *base, void *params)
{
  return mean(s, host, base, params, 0);
}

static zp_launch repack(uint64_t *state, char *host, char *base, void *params)
{
  zp_packed_params *p = params;
  p->packed = slot(base, 1);
  p->f16 = below(state, 2);
  p->n = ROOM;
  fill_limbs(state, slot(host, 0), ROOM, 1);
  fill_packed(state, slot(host, 1), ROOM);
  make_runs(state, base, 0, 0, 72, 72, &p->runs);
  return zp_launch_limb_runs(p->runs.here, p->runs.n);
}

static zp_launch make_mean_packed(uint64_t *state, char *host, char *base, void *params)
{
  zp_squares_params *p = params;
  p->divisor = 1 + below(state, 24 * 16);
  p->packed = slot(base, 0);
  p->f16 = below(state, 2);
  p->n = ROOM;
  fill_packed(state, slot(host, 0), ROOM);
  p->tally = (zp_tally *)(void *)slot(base, 2);
  p->nonfinite = (int64_t *)(void *)slot(base, 3);
  make_runs(state, base, 1, 0, 4, 4, &p->runs);
  for (int32_t i = 0; i < p->runs.n; i++) p->runs.here[i].at = below(state, 2);
  p->lanes = zp_squares_lanes(p->runs.here, p->runs.n);
  return zp_launch_mean_exact(p->runs.here, p->runs.n);
}

static zp_launch make_mean_exact(uint64_t *s, char *host, char *base, void *params)
{
  return mean(s, host, base, params, 1);
}

static zp_launch make_update(uint64_t *state, char *host, char *base, void *params)
{
  zp_update_params *p = params;
  zp_step_state *step = (zp_step_state *)(void *)slot(host, 5);
  zp_group_state *group = (zp_group_state *)(void *)(slot(host, 5) + 1024);
  memset(step, 0, sizeof *step);
  memset(group, 0, sizeof *group);
  step->decision.skipped = below(state, 8) == 0;
  group->rule = (int32_t)below(state, 3);
  for (int i = 0; i < ZP_STEP_SCALARS; i++)
    group->scalar[i] = (float)(1 + below(state, 1000)) / 1024;
  const int kind = below(state, 2) ? 3 : 0;
  for (int k = 0; k < 3; k++) fill(state, ZP_F32, kind, slot(host, k), ROOM);
  for (int64_t i = 0; i < ROOM; i++) /* second moments are not negative */
    ((float *)(void *)slot(host, 3))[i] = (float)below(state, 1000) / 512;
  p->step = (const zp_step_state *)(const void *)slot(base, 5);
  p->group = (const zp_group_state *)(const void *)(slot(base, 5) + 1024);
  p->grad = (const float *)(const void *)slot(base, 0);
  p->master = (float *)(void *)slot(base, 1);
  p->m = (float *)(void *)slot(base, 2);
  p->v = (float *)(void *)slot(base, 3);
  p->dtype = (int32_t)below(state, 3);
  make_runs(state, base, 0, 4, 4, zp_dtype_bytes(p->dtype), &p->runs);
  p->real = below(state, ROOM);
  p->divisor = below(state, 2) ? 1 + below(state, 24 * 16) : 0;
  return zp_launch_runs(p->runs.here, p->runs.n);
}

static zp_launch make_write(uint64_t *state, char *host, char *base, void *params)
{
  zp_write_params *p = params;
  (void)host;
  p->n = (int32_t)below(state, ZP_WRITE_MAX + 1);
  for (int32_t i = 0; i < ZP_WRITE_MAX; i++) p->value[i] = (int64_t)next(state);
  p->to = (int64_t *)(void *)slot(base, 0);
  return zp_launch_one();
}

static zp_launch make_loss(uint64_t *state, char *host, char *base, void *params)
{
  zp_loss_params *p = params;
  p->n = below(state, 40);
  fill(state, ZP_F32, 3, slot(host, 0), p->n);
  p->loss = (const float *)(const void *)slot(base, 0);
  p->tally = (zp_tally *)(void *)slot(base, 1);
  return zp_launch_one();
}

static zp_launch make_pack(uint64_t *state, char *host, char *base, void *params)
{
  zp_pack_params *p = params;
  zp_tally *t = (zp_tally *)(void *)slot(host, 0);
  memset(t, 0, sizeof *t);
  for (int i = 0; i < ZP_SQ_LIMBS; i++) t->squares[i] = (int64_t)(next(state) >> 34);
  for (int i = 0; i < ZP_VAL_LIMBS; i++) t->loss[i] = (int64_t)(next(state) >> 34);
  t->nonfinite = below(state, 3);
  p->tally = (zp_tally *)(void *)slot(base, 0);
  p->stats = (int64_t *)(void *)slot(base, 1);
  p->digest = next(state);
  p->rank = (int32_t)below(state, 3);
  return zp_launch_one();
}

/* From a packed sum of squares: small limbs. */
static zp_launch make_decide(uint64_t *state, char *host, char *base, void *params)
{
  zp_decide_params *p = params;
  zp_step_state *step = (zp_step_state *)(void *)slot(host, 1);
  zp_group_state *group = (zp_group_state *)(void *)slot(host, 2);
  int64_t *stats = (int64_t *)(void *)slot(host, 0);
  memset(stats, 0, ZP_STATS * sizeof *stats);
  for (int i = 8; i < 14; i++) stats[i] = (int64_t)(next(state) >> 34);
  stats[ZP_STAT_NONFINITE] = below(state, 4) == 0;
  zp_agree_words(next(state), 0, stats + ZP_STAT_AGREE);
  memset(step, 0, sizeof *step);
  zp_scaler_init(&step->scaler, 1, 8, 0, 20, 2, 1, 0);
  p->groups = 1 + (int32_t)below(state, 9);
  p->optims = 1 + (int32_t)below(state, ZP_DECIDE_OPTIMS);
  memset(group, 0, (size_t)p->groups * sizeof *group);
  for (int32_t g = 0; g < p->groups; g++) zp_optim_state_init(&group[g].optim);
  for (int32_t i = 0; i < ZP_DECIDE_OPTIMS; i++) {
    p->optim[i].kind = (int32_t)below(state, 2);
    p->optim[i].lr = 1e-3;
    p->optim[i].beta1 = 0.9;
    p->optim[i].beta2 = 0.999;
    p->optim[i].eps = 1e-8;
    p->optim[i].weight_decay = 0.01;
    p->optim[i].momentum = i % 2 ? 0.9 : 0;
  }
  p->stats = (int64_t *)(void *)slot(base, 0);
  p->step = (zp_step_state *)(void *)slot(base, 1);
  p->group = (zp_group_state *)(void *)slot(base, 2);
  p->divisor = 1 + below(state, 100);
  p->clip = below(state, 2) ? 1.0 : 0;
  p->eps = 1e-6;
  p->ranks = 1 + (below(state, 8) == 0); /* 2: hyperparameters differ */
  return zp_launch_one();
}

/* ---- Both sides ------------------------------------------------------------------------------ */

static void run_on_host(const simdev_kernel *k, zp_launch l, const void *params)
{
  void *shared = calloc(1, l.shared + 1);
  for (uint32_t b = 0; b < l.grid; b++) {
    simdev_thread t = {{l.grid, 1, 1}, {l.block, 1, 1}, {b, 0, 0}, {0, 0, 0}};
    const int phases = simdev_phases(k, params, t);
    for (int phase = 0; phase < phases; phase++)
      for (t.threadIdx[0] = 0; t.threadIdx[0] < l.block; t.threadIdx[0]++)
        k->body(params, t, shared, phase);
  }
  free(shared);
}

/* 0, or prints the CUDA call that failed. */
static int failed(const char *of, const char *call, cudaError_t e)
{
  if (e != cudaSuccess)
    fprintf(stderr, "%s: %s: error %d of CUDA, %s\n", of, call, (int)e, cudaGetErrorName(e));
  return e != cudaSuccess;
}

static int run_on_device(const check *c, const place *p, zp_launch l, void *params,
                         cudaStream_t stream)
{
  void *args[] = {params};
  const dim3 grid = {l.grid, 1, 1}, block = {l.block, 1, 1};
  return failed(c->name, "cudaMemcpyAsync",
                cudaMemcpyAsync(p->device, p->host, p->bytes, cudaMemcpyHostToDevice, stream)) ||
         (l.grid > 0 && failed(c->name, "cudaLaunchKernel",
                               cudaLaunchKernel(c->device, grid, block, args, l.shared, stream))) ||
         failed(c->name, "cudaMemcpyAsync",
                cudaMemcpyAsync(p->back, p->device, p->bytes, cudaMemcpyDeviceToHost, stream)) ||
         failed(c->name, "cudaStreamSynchronize", cudaStreamSynchronize(stream));
}

/* 1: a slot has the host's results; *at: the first byte that differs. */
static int same_slot(const place *p, int k, result in, const void *params, size_t *at)
{
  const char *here = slot(p->host, k), *there = slot(p->back, k);
  const int32_t dtype = in == FP32 ? ZP_F32 : ((const zp_update_params *)params)->dtype;
  int64_t i;
  if (memcmp(here, there, SLOT) == 0) return 1;
  if (in == BYTES) {
    for (*at = 0; here[*at] == there[*at];) ++*at;
    return 0;
  }
  i = zp_first_difference(dtype, here, there, SLOT / zp_dtype_bytes(dtype));
  *at = (size_t)(i * zp_dtype_bytes(dtype));
  return i < 0;
}

/* 0 equal, 1 not, 3 the device failed. */
static int run_check(const check *c, const place *p, uint64_t seed, cudaStream_t stream)
{
  static _Alignas(16) unsigned char mine[4096], theirs[4096];
  uint64_t state = seed, again;
  zp_launch l;
  memset(p->host, 0, p->bytes);
  memset(mine, 0, sizeof mine);
  memset(theirs, 0, sizeof theirs);
  again = state;
  c->make(&again, p->host, p->device, theirs);
  l = c->make(&state, p->host, p->host, mine);
  if (run_on_device(c, p, l, theirs, stream)) {
    fprintf(stderr, "%s, seed %" PRIu64 ": not run to its end\n", c->name, seed);
    return 3;
  }
  run_on_host(c->host, l, mine);
  for (int k = 0; k < SLOTS; k++) {
    size_t at;
    if (same_slot(p, k, c->in[k], mine, &at)) continue;
    fprintf(stderr,
            "%s, seed %" PRIu64 ": byte %zu of memory %d is %02x on the device, %02x here\n",
            c->name, seed, at, k, (unsigned char)slot(p->back, k)[at],
            (unsigned char)slot(p->host, k)[at]);
    return 1;
  }
  return 0;
}

int zp_kernel_check(int64_t rounds, uint64_t seed, FILE *out)
{
#define CHECK(name, make, ...)                                                                     \
  {                                                                                                \
#name, zp_kernel_##name, zp_host_kernel_##name, make,                                          \
    {                                                                                              \
      __VA_ARGS__                                                                                  \
    }                                                                                              \
  }
  const check checks[] = {
      CHECK(gather_copy, make_copy, BYTES),
      CHECK(gather_ordered, make_ordered, [1] = FP32),
      CHECK(gather_exact, make_exact, BYTES),
      CHECK(scatter, make_scatter, BYTES),
      CHECK(squares, make_squares, BYTES),
      CHECK(add_ordered, make_add_ordered, [2] = FP32),
      CHECK(add_exact, make_add_exact, BYTES),
      CHECK(add_packed, make_add_packed, BYTES),
      CHECK(settle, make_settle, BYTES),
      CHECK(unpack_sums, repack, BYTES),
      CHECK(pack_sums, repack, BYTES),
      CHECK(mean_ordered, make_mean_ordered, BYTES),
      CHECK(mean_exact, make_mean_exact, BYTES),
      CHECK(mean_packed, make_mean_packed, BYTES),
      CHECK(update, make_update, [1] = FP32, [2] = FP32, [3] = FP32, [4] = OF_UPDATE),
      CHECK(write, make_write, BYTES),
      CHECK(loss, make_loss, BYTES),
      CHECK(pack, make_pack, BYTES),
      CHECK(decide, make_decide, BYTES),
  };
  enum { CHECKS = sizeof checks / sizeof *checks };
  place p = {.bytes = (size_t)SLOTS * SLOT};
  cudaStream_t stream;
  int64_t done = 0;
  int result = 0;
  p.host = malloc(p.bytes);
  p.back = malloc(p.bytes);
  if (!p.host || !p.back || failed("opening", "cudaSetDevice", cudaSetDevice(0)) ||
      failed("opening", "cudaMalloc", cudaMalloc((void **)&p.device, p.bytes)) ||
      failed("opening", "cudaStreamCreateWithFlags",
             cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)))
    return 3;
  for (int i = 0; i < CHECKS; i++) {
    struct cudaFuncAttributes loaded;
    if (failed(checks[i].name, "cudaFuncGetAttributes",
               cudaFuncGetAttributes(&loaded, checks[i].device)))
      result = 3;
  }
  for (int64_t k = 0; k < rounds && result == 0; k++)
    for (int i = 0; i < CHECKS && result == 0; i++, done++)
      result = run_check(&checks[i], &p, seed * 1000003u + (uint64_t)(k * CHECKS + i), stream);
  fprintf(out, "{\"kernels\": %d, \"runs\": %" PRId64 ", \"equal\": %s}\n", (int)CHECKS, done,
          result ? "false" : "true");
  cudaStreamDestroy(stream);
  cudaFree(p.device);
  free(p.host);
  free(p.back);
  return result;
}
