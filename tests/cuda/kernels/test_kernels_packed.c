/* Laws of the kernels on packed sums, against sums in limbs. */
#include "../../../ref/comm/comm.h"
#include "../../../ref/num/nonfinite.h"
#include "kernel_run.h"

enum { MEMBERS = 5, PIECES = 6, MOST = 700 };

/* n packed sums, and their limbs. f16: 1: of fp16 numbers. */
typedef struct both {
  int64_t n, f16;
  guarded packed;
  int64_t *limbs;
} both;

static uint32_t *low_of(const both *b)
{
  return (uint32_t *)(void *)b->packed.data;
}

static int64_t *top_of(const both *b)
{
  return (int64_t *)(void *)(b->packed.data + 4 * ZP_PACKED_WORDS * b->n);
}

static void both_pack(const both *b, int64_t i)
{
  const int64_t *limb = b->limbs + i * ZP_VAL_LIMBS;
  if (b->f16) zp_val_pack_f16(limb, low_of(b), b->n, i);
  else zp_val_pack(limb, low_of(b), top_of(b), b->n, i);
}

/* Sums of a few numbers each, carried. */
static both both_make(rng *r, int64_t n, int64_t f16)
{
  const int64_t bytes = f16 ? ZP_PACKED_F16_BYTES : ZP_PACKED_BYTES;
  both b = {.n = n, .f16 = f16, .packed = guarded_make(n * bytes, f16 ? 4 : 8)};
  b.limbs = calloc((size_t)n * ZP_VAL_LIMBS + 1, 8);
  uint32_t *x = calloc((size_t)n + 1, sizeof *x);
  for (int k = 0; k < 3; k++) {
    fill(r, f16 ? ZP_F16 : ZP_F32, (int)rng_below(r, KINDS), x, n);
    if (f16) zp_val_add_f16(b.limbs, (const uint16_t *)(const void *)x, n);
    else zp_val_add_f32(b.limbs, x, n);
  }
  zp_val_normalise(b.limbs, n);
  for (int64_t i = 0; i < n; i++) both_pack(&b, i);
  free(x);
  return b;
}

static void both_free(both *b)
{
  guarded_free(&b->packed);
  free(b->limbs);
}

static void assert_both(const both *b, const char *what, int round)
{
  for (int64_t i = 0; i < b->n; i++) {
    int64_t got[ZP_VAL_LIMBS];
    if (b->f16) zp_val_unpack_f16(got, low_of(b), b->n, i);
    else zp_val_unpack(got, low_of(b), top_of(b), b->n, i);
    cr_assert_arr_eq(got, b->limbs + i * ZP_VAL_LIMBS, sizeof got, "%s, round %d, element %lld",
                     what, round, (long long)i);
  }
}

/* The members' parts of n elements, one after the other, in `size` bytes each. */
static void add_parts(rng *r, both *sum, int32_t dtype, int first, const void *own_in)
{
  const int64_t n = sum->n, size = bytes_of(dtype);
  const int32_t members = 1 + (int32_t)rng_below(r, MEMBERS);
  guarded parts = guarded_make(members * n * size, size);
  const void *in[MEMBERS];
  int64_t *want = calloc((size_t)n * ZP_VAL_LIMBS + 1, 8);
  for (int32_t m = 0; m < members; m++) {
    fill(r, dtype, (int)rng_below(r, KINDS), parts.data + m * n * size, n);
    in[m] = parts.data + m * n * size;
  }
  const int32_t own = (int32_t)rng_below(r, members + 1) - 1;
  if (own >= 0) in[own] = own_in;
  const zp_add_params p = {.dtype = dtype,
                           .f16 = sum->f16,
                           .members = members,
                           .own = own,
                           .first = first,
                           .n = n,
                           .stride = n * size,
                           .parts = parts.data,
                           .own_in = own_in,
                           .out = sum->packed.data};
  kernel_run(r, zp_kernel_add_packed, narrowed(r, zp_launch_limbs(n, 1)), &p);
  zp_reduce_members(ZP_RED_EXACT, dtype, members, in, n, want);
  for (int64_t i = 0; i < n * ZP_VAL_LIMBS; i++)
    sum->limbs[i] = want[i] + (first ? 0 : sum->limbs[i]);
  zp_val_normalise(sum->limbs, n);
  guarded_free(&parts);
  free(want);
}

/* spec: RED-5, SUM-5, SUM-6, SUM-8, SUM-9 */
Test(kernels_packed, parts_give_the_sums_of_the_interpreter)
{
  rng r = {61};
  for (int round = 0; round < 60; round++) {
    const int64_t n = some_count(&r) / 4;
    both sum = both_make(&r, n, round % 3 == ZP_F16 && round % 2);
    guarded own = guarded_make(n * bytes_of(round % 3), bytes_of(round % 3));
    for (int mb = 0; mb < 3; mb++) {
      fill(&r, round % 3, (int)rng_below(&r, KINDS), own.data, n);
      add_parts(&r, &sum, round % 3, mb == 0, own.data);
      assert_both(&sum, "parts", round);
    }
    guarded_free(&own);
    both_free(&sum);
  }
}

/* spec: TIE-2, SUM-6, SUM-8, SUM-9 */
Test(kernels_packed, sums_are_added_to_sums)
{
  rng r = {62};
  for (int round = 0; round < 40; round++) {
    const int64_t n = some_count(&r) / 4;
    both sum = both_make(&r, n, round % 2), use = both_make(&r, n, round % 2);
    const zp_add_params p = {.dtype = ZP_I64,
                             .f16 = round % 2,
                             .members = 1,
                             .n = n,
                             .own_in = use.packed.data,
                             .out = sum.packed.data};
    kernel_run(&r, zp_kernel_add_packed, narrowed(&r, zp_launch_limbs(n, 2)), &p);
    for (int64_t i = 0; i < n * ZP_VAL_LIMBS; i++) sum.limbs[i] += use.limbs[i];
    zp_val_normalise(sum.limbs, n);
    assert_both(&sum, "sum", round);
    assert_both(&use, "further use", round);
    both_free(&sum);
    both_free(&use);
  }
}

/* Some of the elements 0 … n - 1, in runs: of packed sums and of limbs, which lie together. */
static int64_t make_runs(rng *r, int64_t n, int64_t *limbs, zp_memory_runs *runs)
{
  int64_t at = 0, next = 0;
  memset(runs, 0, sizeof *runs);
  while (runs->n < PIECES && at < n) {
    const int64_t count = rng_below(r, n - at + 1);
    int64_t *here = limbs + next * ZP_VAL_LIMBS;
    runs->here[runs->n++] = (zp_memory_run){.in = here, .out = here, .at = at, .count = count};
    next += count;
    at += count + rng_below(r, 3);
  }
  runs->tiles = zp_runs_lay(runs->here, runs->n);
  return next;
}

/* spec: SUM-6, SUM-8, SUM-9, RED-8 */
Test(kernels_packed, sums_become_limbs_and_back_with_carries)
{
  rng r = {63};
  for (int round = 0; round < 60; round++) {
    const int64_t n = 1 + rng_below(&r, MOST);
    both b = both_make(&r, n, round % 2);
    guarded limbs = guarded_make(n * ZP_VAL_LIMBS * 8, 8);
    zp_packed_params p = {.packed = b.packed.data, .f16 = b.f16, .n = n};
    const int64_t some = make_runs(&r, n, (int64_t *)(void *)limbs.data, &p.runs);
    const zp_launch l = zp_launch_limb_runs(p.runs.here, p.runs.n);
    kernel_run(&r, zp_kernel_unpack_sums, narrowed(&r, l), &p);
    assert_both(&b, "unpacked", round);
    for (int32_t i = 0; i < p.runs.n; i++)
      cr_assert_arr_eq(p.runs.here[i].in, b.limbs + p.runs.here[i].at * ZP_VAL_LIMBS,
                       (size_t)(p.runs.here[i].count * ZP_VAL_LIMBS * 8), "round %d", round);
    int64_t *limb = (int64_t *)(void *)limbs.data; /* as many ranks add them */
    for (int64_t i = 0; i < some * ZP_VAL_LIMBS; i++) limb[i] *= 1 << 20;
    for (int32_t i = 0; i < p.runs.n; i++) {
      int64_t *to = b.limbs + p.runs.here[i].at * ZP_VAL_LIMBS;
      memcpy(to, p.runs.here[i].in, (size_t)(p.runs.here[i].count * ZP_VAL_LIMBS * 8));
      zp_val_normalise(to, p.runs.here[i].count);
    }
    kernel_run(&r, zp_kernel_pack_sums, narrowed(&r, l), &p);
    assert_both(&b, "packed again", round);
    guarded_free(&limbs);
    both_free(&b);
  }
}

/* spec: RED-2, SUM-7 … SUM-9, STAT-2, STAT-3 */
Test(kernels_packed, means_take_the_place_of_first_words_and_are_squared)
{
  rng r = {64};
  for (int round = 0; round < 60; round++) {
    const int64_t n = 1 + rng_below(&r, MOST), divisor = round % 3 ? 1 + rng_below(&r, 1000) : 1;
    both b = both_make(&r, n, round % 2);
    zp_tally tally = {{0}, {0}, 0, 0};
    zp_sumsq squares;
    int64_t bad = 0, want_bad = 0, limb[ZP_SQ_LIMBS], unused[MOST * ZP_VAL_LIMBS];
    zp_squares_params p = {.divisor = divisor,
                           .packed = b.packed.data,
                           .f16 = b.f16,
                           .n = n,
                           .tally = &tally,
                           .nonfinite = &bad};
    if (n > 2 &&
        !b.f16) { /* 3 times the largest number has no fp32 mean: an infinity, and counted */
      memset(b.limbs + 18, 0, 72);
      for (int m = 0; m < 3; m++) zp_val_add_f32(b.limbs + 18, &(uint32_t){0xff7fffffu}, 1);
      zp_val_normalise(b.limbs + 18, 1);
      both_pack(&b, 2);
    }
    zp_sumsq_clear(&squares);
    make_runs(&r, n, unused, &p.runs);
    uint32_t *want = malloc((size_t)n * sizeof *want);
    memcpy(want, low_of(&b), (size_t)n * sizeof *want);
    for (int32_t i = 0; i < p.runs.n; i++) {
      zp_memory_run *run = &p.runs.here[i];
      uint32_t *mean = want + run->at;
      for (int64_t k = 0; k < run->count; k++)
        mean[k] = zp_val_mean_f32(b.limbs + (run->at + k) * ZP_VAL_LIMBS, divisor);
      want_bad += zp_nonfinite_f32(mean, run->count);
      run->in = NULL;
      run->out = low_of(&b) + run->at;
      run->at = rng_below(&r, 2);
      if (run->at) zp_sumsq_add_f32(&squares, mean, run->count);
    }
    p.lanes = zp_squares_lanes(p.runs.here, p.runs.n);
    kernel_run(&r, zp_kernel_mean_packed, narrowed(&r, zp_launch_mean_exact(p.runs.here, p.runs.n)),
               &p);
    cr_assert_arr_eq(low_of(&b), want, (size_t)n * sizeof *want, "round %d", round);
    cr_assert_eq(bad, want_bad, "round %d", round);
    zp_limbs_normalise(tally.squares, ZP_SQ_LIMBS);
    zp_sumsq_limbs(&squares, limb);
    cr_assert_arr_eq(tally.squares, limb, sizeof limb, "round %d", round);
    free(want);
    both_free(&b);
  }
}
