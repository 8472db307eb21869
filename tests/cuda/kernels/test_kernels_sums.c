/* Laws of the kernels that add: parts of the ranks, means, exact squares. */
#include "../../../ref/comm/comm.h"
#include "../../../ref/num/nonfinite.h"
#include "../../../ref/num/ordered.h"
#include "kernel_run.h"

enum { MEMBERS = 7, RUNS = 30, MANY = 1000 };

/* ---- Parts ----------------------------------------------------------------------------------- */

/* What a rank has been sent: a part of n elements of each member, its own elsewhere or nowhere. */
typedef struct parts {
  int32_t members, own;
  int64_t n, stride, size; /* size: bytes of an element */
  guarded scratch, mine;
  const void *in[MEMBERS];
} parts;

static parts parts_make(rng *r, int32_t dtype, int64_t n)
{
  parts p = {.n = n, .size = bytes_of(dtype)};
  p.members = 1 + (int32_t)rng_below(r, MEMBERS);
  p.own = (int32_t)rng_below(r, p.members + 1) - 1;
  p.stride = n * p.size + p.size * rng_below(r, 3);
  p.scratch = guarded_make(p.stride * p.members, p.size);
  p.mine = guarded_make(n * p.size, p.size);
  for (int32_t m = 0; m < p.members; m++) {
    unsigned char *at = m == p.own ? p.mine.data : p.scratch.data + m * p.stride;
    p.in[m] = at;
    fill(r, dtype, (int)rng_below(r, KINDS), at, n);
  }
  return p;
}

static void parts_free(parts *p)
{
  guarded_free(&p->scratch);
  guarded_free(&p->mine);
}

static zp_add_params add_params(const parts *p, int32_t dtype, void *out, int first)
{
  zp_add_params a = {.dtype = dtype,
                     .members = p->members,
                     .own = p->own,
                     .first = first,
                     .n = p->n,
                     .stride = p->stride,
                     .parts = p->scratch.data,
                     .own_in = p->mine.data,
                     .out = out};
  return a;
}

/* spec: RED-4, TIE-2 */
Test(kernels_sums, ordered_parts_are_added_left_to_right_as_the_simulator_does)
{
  rng r = {11};
  for (int round = 0; round < 90; round++) {
    const int64_t n = some_count(&r);
    guarded out = guarded_make(n * 4, 4);
    float *want = calloc((size_t)n + 1, sizeof *want), *sum = calloc((size_t)n + 1, sizeof *sum);
    for (int mb = 0; mb < 2; mb++) {
      parts p = parts_make(&r, round % 3, n);
      const zp_add_params a = add_params(&p, round % 3, out.data, mb == 0);
      kernel_run(&r, zp_kernel_add_ordered, narrowed(&r, zp_launch_elements(n)), &a);
      zp_reduce_members(ZP_RED_ORDERED, round % 3, p.members, p.in, n, sum);
      if (mb == 0) memcpy(want, sum, (size_t)n * sizeof *sum);
      else zp_ordered_add_f32(want, sum, n);
      const float *got = (const float *)(const void *)out.data;
      for (int64_t i = 0; i < n; i++)
        cr_assert(same_f32(got[i], want[i]), "round %d mb %d element %lld", round, mb,
                  (long long)i);
      parts_free(&p);
    }
    guarded_free(&out);
    free(want);
    free(sum);
  }
}

/* A part is carried before it is added: limbs as large as they may be would overflow. */
/* spec: SUM-6, TIE-2 */
Test(kernels_sums, a_part_in_limbs_is_carried_and_added)
{
  const int64_t most = INT64_MAX - (INT64_C(1) << 33);
  rng r = {12};
  for (int round = 0; round < 80; round++) {
    const int64_t n = some_count(&r) / 4, words = n * ZP_VAL_LIMBS;
    guarded part = guarded_make(n * 72, 8), sum = guarded_make(n * 72, 8);
    int64_t *carried = calloc((size_t)words + 1, 8), *want = calloc((size_t)words + 1, 8);
    for (int64_t i = 0; i < words; i++) {
      const int top = i % ZP_VAL_LIMBS == ZP_VAL_LIMBS - 1;
      const int64_t large = rng_below(&r, 2) ? most : -most;
      carried[i] = top ? rng_below(&r, 9) - 4 : large;
      want[i] = rng_below(&r, 2) ? large / 4 : (int64_t)rng_u32(&r);
    }
    memcpy(part.data, carried, (size_t)words * 8);
    memcpy(sum.data, want, (size_t)words * 8);
    const zp_add_exact_params p = {n, (int64_t *)(void *)part.data, (int64_t *)(void *)sum.data};
    kernel_run(&r, zp_kernel_add_exact, narrowed(&r, zp_launch_limbs(n, 2)), &p);
    cr_assert_eq(memcmp(part.data, carried, (size_t)words * 8), 0, "round %d: the part", round);
    zp_val_normalise(carried, n);
    zp_limbs_merge(want, carried, words);
    cr_assert_eq(memcmp(sum.data, want, (size_t)words * 8), 0, "round %d", round);
    guarded_free(&part);
    guarded_free(&sum);
    free(carried);
    free(want);
  }
}

/* A launch copies as many bytes as the kernel's parameters have: more than its caller passes would
 * be read beyond them. */
Test(kernels_sums, parameters_of_limbs_have_the_size_that_the_launch_copies)
{
  const simdev_kernel *k = zp_kernel_add_exact;
  cr_assert_eq(k->params_bytes, sizeof(zp_add_exact_params));
}

/* spec: SUM-6, RED-5 */
Test(kernels_sums, sums_that_leave_a_rank_are_carried)
{
  rng r = {13};
  for (int round = 0; round < 40; round++) {
    const int64_t n = some_count(&r) / 4;
    guarded limbs = guarded_make(n * 72, 8);
    int64_t *want = malloc((size_t)n * 72 + 8);
    for (int64_t i = 0; i < n * 9; i++)
      want[i] = (int64_t)(rng_next(&r) >> 2) - (INT64_C(1) << (rng_below(&r, 2) ? 61 : 20));
    memcpy(limbs.data, want, (size_t)n * 72);
    zp_settle_params p = {.n = n, .limbs = (int64_t *)(void *)limbs.data};
    kernel_run(&r, zp_kernel_settle, narrowed(&r, zp_launch_limbs(n, 1)), &p);
    zp_val_normalise(want, n);
    cr_assert_eq(memcmp(limbs.data, want, (size_t)n * 72), 0, "round %d", round);
    guarded_free(&limbs);
    free(want);
  }
}

/* ---- Squares --------------------------------------------------------------------------------- */

static int64_t add_squares(zp_sumsq *s, int32_t dtype, const void *x, int64_t n)
{
  if (dtype == ZP_F32) return zp_sumsq_add_f32(s, x, n);
  return dtype == ZP_BF16 ? zp_sumsq_add_bf16(s, x, n) : zp_sumsq_add_f16(s, x, n);
}

/* The limbs of a tally and of a running sum are those of the same number. */
static void assert_squares(const zp_tally *tally, zp_sumsq *want, const char *where)
{
  int64_t limb[ZP_SQ_LIMBS], got[ZP_SQ_LIMBS];
  memcpy(got, tally->squares, sizeof got);
  zp_limbs_normalise(got, ZP_SQ_LIMBS);
  zp_sumsq_limbs(want, limb);
  cr_assert_eq(memcmp(got, limb, sizeof got), 0, "%s", where);
}

/* ---- Means ----------------------------------------------------------------------------------- */

/* Runs of sums, of which some have counted squares; and what a launch over them must give. */
typedef struct mean_case {
  zp_memory_run run[RUNS];
  guarded in[RUNS], out[RUNS];
  float *want[RUNS];
  zp_tally tally;
  zp_sumsq squares;
  int64_t bad, want_bad;
  zp_squares_params p;
} mean_case;

/* n runs with elements of `bytes` each. */
static void mean_case_make(rng *r, mean_case *c, int32_t n, int64_t bytes, int64_t divisor)
{
  memset(c, 0, sizeof *c);
  zp_sumsq_clear(&c->squares);
  c->bad = c->want_bad = -3;
  for (int32_t i = 0; i < n; i++) {
    const int64_t count = some_count(r) / (bytes == 4 ? 1 : 8);
    c->in[i] = guarded_make(count * bytes, bytes == 4 ? 4 : 8);
    c->out[i] = guarded_make(count * 4, 4);
    c->want[i] = calloc((size_t)count + 1, sizeof *c->want[i]);
    c->run[i] = (zp_memory_run){
        .in = c->in[i].data, .out = c->out[i].data, .at = rng_below(r, 2), .count = count};
  }
  c->p = (zp_squares_params){.divisor = divisor, .tally = &c->tally, .nonfinite = &c->bad};
  c->p.runs.n = n;
  c->p.runs.table = c->run;
  c->p.runs.tiles = zp_runs_lay(c->run, n);
}

/* The means of all runs are expected: every non-finite one is reported, and squares are those of
 * the runs that are counted. */
static void mean_case_end(mean_case *c)
{
  for (int32_t i = 0; i < c->p.runs.n; i++) {
    const uint32_t *want = (const uint32_t *)(const void *)c->want[i];
    c->want_bad += zp_nonfinite_f32(want, c->run[i].count);
    if (c->run[i].at) zp_sumsq_add_f32(&c->squares, want, c->run[i].count);
    free(c->want[i]);
    guarded_free(&c->in[i]);
    guarded_free(&c->out[i]);
  }
  cr_assert_eq(c->bad, c->want_bad);
  assert_squares(&c->tally, &c->squares, "squares of means");
}

/* spec: RED-2, RED-4, STAT-2, STAT-3 */
Test(kernels_sums, squares_of_ordered_means_divide_in_fp64_and_round_once_more)
{
  rng r = {14};
  static mean_case c;
  for (int round = 0; round < 120; round++) {
    const int64_t divisor = 1 + rng_below(&r, round % 2 ? 30 : INT64_C(1) << 40);
    mean_case_make(&r, &c, 1 + (int32_t)rng_below(&r, RUNS), 4, divisor);
    for (int32_t i = 0; i < c.p.runs.n; i++) {
      fill(&r, ZP_F32, (int)rng_below(&r, KINDS), c.in[i].data, c.run[i].count);
      zp_ordered_mean_f32(c.want[i], c.run[i].in, divisor, c.run[i].count);
      memset(c.out[i].data, 0x5a, (size_t)c.out[i].bytes);
    }
    kernel_run(&r, zp_kernel_mean_ordered, narrowed(&r, squares_launch(&c.p)), &c.p);
    for (int32_t i = 0; i < c.p.runs.n; i++)
      for (int64_t k = 0; k < c.out[i].bytes; k++)
        cr_assert_eq(c.out[i].data[k], 0x5a, "a mean was stored");
    mean_case_end(&c);
  }
}

/* spec: RED-2, SUM-7, STAT-2, STAT-3 */
Test(kernels_sums, exact_means_are_rounded_once_and_squared)
{
  rng r = {15};
  static mean_case c;
  for (int round = 0; round < 80; round++) {
    const int64_t divisor = round % 3 ? 1 + rng_below(&r, 1000) : 1;
    mean_case_make(&r, &c, 1 + (int32_t)rng_below(&r, RUNS), 72, divisor);
    for (int32_t i = 0; i < c.p.runs.n; i++) {
      const int64_t n = c.run[i].count;
      int64_t *limb = (int64_t *)(void *)c.in[i].data;
      uint32_t *x = malloc((size_t)n * 4 + 4);
      memset(limb, 0, (size_t)n * 72);
      for (int m = 0; m < 3; m++) {
        fill(&r, ZP_F32, (int)rng_below(&r, KINDS), x, n);
        zp_val_add_f32(limb, x, n);
      }
      /* 3 times the largest number, divided by 1, has no fp32 mean: an infinity, and counted */
      for (int m = 0; m < 3 && n > 2; m++) zp_val_add_f32(limb + 18, &(uint32_t){0xff7fffffu}, 1);
      for (int64_t k = 0; k < n; k++) {
        const uint32_t want = zp_val_mean_f32(limb + 9 * k, divisor);
        memcpy(&c.want[i][k], &want, sizeof want);
      }
      free(x);
    }
    kernel_run(&r, zp_kernel_mean_exact, narrowed(&r, mean_exact_launch(&c.p)), &c.p);
    for (int32_t i = 0; i < c.p.runs.n; i++)
      cr_assert_eq(memcmp(c.run[i].out, c.want[i], (size_t)c.run[i].count * 4), 0,
                   "round %d, run %d", round, (int)i);
    mean_case_end(&c);
  }
}

/* spec: SUM-1, SUM-2, SUM-3, SUM-4, STAT-2, STAT-3, NUM-3 */
Test(kernels_sums, squares_of_many_tensors_have_the_limbs_of_the_reference)
{
  rng r = {16};
  for (int round = 0; round < 60; round++) {
    const int32_t dtype = round % 3, n = 1 + (int32_t)rng_below(&r, RUNS);
    zp_memory_run run[RUNS];
    guarded in[RUNS];
    zp_tally tally;
    zp_sumsq want;
    int64_t bad = 5, want_bad = 5;
    memset(&tally, 0, sizeof tally);
    memset(run, 0, sizeof run);
    zp_sumsq_clear(&want);
    for (int32_t i = 0; i < n; i++) {
      run[i].count = some_count(&r);
      in[i] = guarded_make(run[i].count * bytes_of(dtype), bytes_of(dtype));
      fill(&r, dtype, (int)(round < 2 * KINDS ? round / 2 : rng_below(&r, KINDS)), in[i].data,
           run[i].count);
      run[i].in = in[i].data;
    }
    zp_squares_params p = {.dtype = dtype, .tally = &tally, .nonfinite = &bad};
    p.runs.n = n;
    p.runs.table = run;
    p.runs.tiles = zp_runs_lay(run, n);
    for (int launch = 0; launch < 2; launch++) { /* the tally goes on */
      zp_launch l = squares_launch(&p);
      kernel_run(&r, zp_kernel_squares, narrowed(&r, l), &p);
      for (int32_t i = 0; i < n; i++)
        want_bad += add_squares(&want, dtype, in[i].data, run[i].count);
      assert_squares(&tally, &want, "squares");
      cr_assert_eq(bad, want_bad, "round %d: %lld not %lld", round, (long long)bad,
                   (long long)want_bad);
    }
    for (int32_t i = 0; i < n; i++) guarded_free(&in[i]);
  }
}

/* Every square at once in one thread's hands: all exponents in turn, largest significands. */
/* spec: SUM-2, SUM-3 */
Test(kernels_sums, squares_of_every_binade_are_exact_however_they_alternate)
{
  rng r = {17};
  enum { N = 3 * ZP_TILE + 77 };
  static uint32_t x[N];
  for (int round = 0; round < 6; round++) {
    zp_tally tally;
    zp_sumsq want;
    memset(&tally, 0, sizeof tally);
    zp_sumsq_clear(&want);
    for (int i = 0; i < N; i++)
      x[i] = (uint32_t)(round % 2 ? (uint32_t)i % 255u : rng_u32(&r) % 255u) << 23 | 0x7fffffu;
    if (round > 3) memset(x, 0x7f, sizeof x); /* 0x7f7f7f7f, near the largest */
    zp_squares_params p = {.dtype = ZP_F32, .tally = &tally};
    p.runs.n = 1;
    p.runs.here[0] = (zp_memory_run){.in = x, .count = N};
    p.runs.tiles = zp_runs_lay(p.runs.here, 1);
    kernel_run(&r, zp_kernel_squares, narrowed(&r, squares_launch(&p)), &p);
    cr_assert_eq(add_squares(&want, ZP_F32, x, N), 0);
    assert_squares(&tally, &want, "binades");
  }
}

/* spec: STAT-2, SUM-4 */
Test(kernels_sums, a_thousand_tiny_tensors_are_squared_in_one_launch)
{
  rng r = {18};
  static zp_memory_run run[MANY];
  static uint16_t x[MANY * 3];
  zp_tally tally;
  zp_sumsq want;
  int64_t bad = 0, want_bad = 0, n = 0;
  memset(&tally, 0, sizeof tally);
  memset(run, 0, sizeof run);
  zp_sumsq_clear(&want);
  fill(&r, ZP_F16, KIND_UNIFORM, x, MANY * 3);
  for (int i = 0; i < MANY; i++) {
    run[i] = (zp_memory_run){.in = x + n, .count = rng_below(&r, 4)};
    want_bad += add_squares(&want, ZP_F16, x + n, run[i].count);
    n += 3; /* what lies between the tensors does not count */
  }
  zp_squares_params p = {.dtype = ZP_F16, .tally = &tally, .nonfinite = &bad};
  p.runs.table = run;
  p.runs.n = MANY;
  p.runs.tiles = zp_runs_lay(run, MANY);
  kernel_run(&r, zp_kernel_squares, squares_launch(&p), &p);
  assert_squares(&tally, &want, "tiny tensors");
  cr_assert_eq(bad, want_bad);
  cr_assert_gt(bad, 0);
}
