/* The least traffic of a step, against figures that were worked out by hand. */
#include <criterion/criterion.h>

#include "../../../cuda/counters/counters.h"

typedef struct wanted {
  int32_t stage, reduce, native, precision;
  int64_t M;
  int32_t dp;
  double bytes;
  int32_t fp32_gradients, in_place;
} wanted;

/* Masters and moments of 12 bytes that are read and written, a gradient of 4 that is read twice
 * (norm, update), and a parameter of 2: 34 bytes on the rank that owns it. */
static const wanted table[] = {
    {2, ZP_ORDERED, 1, ZP_BF16, 1, 4, 6 + 34.0 / 4, 0, 0},
    {2, ZP_ORDERED, 1, ZP_BF16, 8, 4, 6 + 34.0 / 4 + 7 * (6 + 12.0 / 4), 0, 0},
    {2, ZP_ORDERED, 1, ZP_F32, 1, 4, 36.0 / 4, 0, 0},
    {2, ZP_ORDERED, 1, ZP_F32, 2, 4, 36.0 / 4 + 12.0 / 4, 0, 0},
    {2, ZP_ORDERED, 0, ZP_BF16, 1, 4, 2 + 38.0 / 4, 0, 0},
    {2, ZP_ORDERED, 0, ZP_BF16, 3, 8, 2 + 38.0 / 8 + 2 * (2 + 8.0 / 8), 0, 0},
    {2, ZP_EXACT, 0, ZP_BF16, 1, 4, 2 + 40.0 / 4 + (44 + 30.0) / 4, 0, 0},
    {2, ZP_EXACT, 0, ZP_BF16, 2, 4, 2 + 40.0 / 4 + (44 + 30.0) / 4 + 2 + 80.0 / 4, 0, 0},
    {2, ZP_EXACT, 0, ZP_F16, 1, 4, 2 + 12.0 / 4 + (16 + 30.0) / 4, 0, 0},
    {2, ZP_EXACT, 0, ZP_F16, 2, 4, 2 + 12.0 / 4 + (16 + 30.0) / 4 + 2 + 24.0 / 4, 0, 0},
    {2, ZP_EXACT, 0, ZP_F16, 1, 4, 4 + 40.0 / 4 + (44 + 30.0) / 4, 1, 0},
    {1, ZP_ORDERED, 1, ZP_BF16, 1, 4, 6 + 34.0 / 4, 0, 0},
    {1, ZP_ORDERED, 1, ZP_BF16, 8, 4, 6 + 7 * 10 + 34.0 / 4, 0, 0},
    {1, ZP_ORDERED, 0, ZP_BF16, 1, 4, 6 + 4 + 4.0 / 4 + 34.0 / 4, 0, 0},
    {1, ZP_EXACT, 0, ZP_BF16, 2, 4, 74 + 146 + 106.0 / 4, 0, 0},
    {0, ZP_ORDERED, 1, ZP_BF16, 1, 4, 6 + 34, 0, 0},
    {2, ZP_ORDERED, 1, ZP_BF16, 1, 4, 34.0 / 4, 1, 0},
    {2, ZP_ORDERED, 1, ZP_BF16, 1, 8, 34.0 / 8, 1, 1},
    {2, ZP_ORDERED, 1, ZP_BF16, 3, 8, 34.0 / 8 + 2 * 12.0 / 8, 1, 1},
    {2, ZP_ORDERED, 0, ZP_BF16, 1, 4, 4 + 38.0 / 4, 1, 0},
    {2, ZP_EXACT, 0, ZP_BF16, 1, 4, 4 + 40.0 / 4 + (44 + 30.0) / 4, 1, 0},
    {1, ZP_ORDERED, 1, ZP_BF16, 2, 4, 8 + 12 + 34.0 / 4, 1, 0},
    {1, ZP_ORDERED, 1, ZP_BF16, 2, 4, 34.0 / 4, 1, 1},
    {1, ZP_ORDERED, 1, ZP_BF16, 1, 4, 6 + 34.0 / 4, 0, 1},
    {1, ZP_EXACT, 0, ZP_BF16, 1, 4, 76 + 106.0 / 4, 1, 1},
};

static zp_param one = {.numel = 5, .tied = -1};

Test(ideal, each_configuration_has_the_figure_worked_out_by_hand)
{
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const wanted *w = &table[i];
    const zp_config cfg = {.pp = 1,
                           .dp = w->dp,
                           .tp = 1,
                           .ep = 1,
                           .stage = w->stage,
                           .reduce = w->reduce,
                           .precision = w->precision,
                           .micro_batches = w->M,
                           .params = &one,
                           .n_params = 1};
    const zp_hyper hyper = {.fp32_gradients = w->fp32_gradients};
    const zp_counters_job job = {
        .cfg = &cfg, .hyper = &hyper, .native = w->native, .in_place = w->in_place};
    cr_expect_float_eq(zp_counters_ideal(&job), w->bytes, 1e-12, "row %zu: %.6f", i,
                       zp_counters_ideal(&job));
  }
}

/* Stage 2, `native`: 3 elements of bf16, whose gradients are widened, and 1 of fp32. */
Test(ideal, parameters_of_two_dtypes_count_by_their_elements)
{
  const zp_param list[] = {{.numel = 3, .tied = -1}, {.numel = 1, .tied = -1, .fp32 = 1}};
  const zp_config cfg = {.pp = 1,
                         .dp = 4,
                         .tp = 1,
                         .ep = 1,
                         .stage = 2,
                         .precision = ZP_BF16,
                         .micro_batches = 1,
                         .params = list,
                         .n_params = 2};
  const zp_hyper hyper = {0};
  const double bytes =
      zp_counters_ideal(&(zp_counters_job){.cfg = &cfg, .hyper = &hyper, .native = 1});
  cr_expect_float_eq(bytes, (3 * (6 + 34.0 / 4) + 36.0 / 4) / 4, 1e-12, "%.6f", bytes);
}

Test(ideal, none_is_known_for_other_configurations)
{
  const zp_param frozen = {.numel = 1, .tied = -1, .frozen = 1};
  const zp_config plain = {.pp = 1,
                           .dp = 4,
                           .tp = 1,
                           .ep = 1,
                           .stage = 2,
                           .micro_batches = 1,
                           .params = &one,
                           .n_params = 1};
  zp_config cfg[5] = {plain, plain, plain, plain, plain};
  const zp_hyper hyper = {0}, replicas = {.replicas = 2};
  cfg[0].tp = 2;
  cfg[1].ep = 2;
  cfg[2].tied_keys = 1;
  cfg[3].params = &frozen;
  cfg[4].n_params = 0;
  for (int i = 0; i < 5; i++)
    cr_expect(zp_counters_ideal(&(zp_counters_job){.cfg = &cfg[i], .hyper = &hyper}) < 0);
  cr_expect(zp_counters_ideal(&(zp_counters_job){.cfg = &plain, .hyper = &replicas}) < 0);
  cr_expect(zp_counters_ideal(&(zp_counters_job){.cfg = &plain, .hyper = &hyper, .offload = 1}) <
            0);
  cr_expect(zp_counters_ideal(&(zp_counters_job){.cfg = &plain, .hyper = &hyper}) > 0);
}
