/* Laws of ref/num/scaler.h: trajectories beside an independent statement of DeepSpeed's rule. */
#include <criterion/criterion.h>

#include "../../../ref/num/scaler.h"
#include "test_num_patterns.h"

/* The rule with the scale as a number, as the DeepSpeed survey (4.3) words it. */
typedef struct model {
  double scale, min, max;
  long t, u, window;
  int left, delayed, consecutive;
} model;

static void model_step(model *m, int overflow)
{
  if (overflow) {
    if (m->delayed == 1 || m->left == 1) m->scale = fmax(m->scale / 2, m->min);
    else m->left--;
    m->u = m->t;
  } else {
    long q = m->t - m->u - 1;
    if (m->consecutive) m->left = m->delayed;
    if (q > 0 && q % m->window == 0) {
      if (!m->consecutive) m->left = m->delayed;
      m->scale = fmin(m->scale * 2, m->max);
    }
  }
  m->t++;
}

static zp_scaler made(int log2, int min, int max, int64_t window, int hysteresis, int consecutive)
{
  zp_scaler s;
  cr_assert_eq(zp_scaler_init(&s, 1, log2, min, max, window, hysteresis, consecutive), 0);
  return s;
}

/* spec: SCALE-3, SCALE-4 */
Test(num_scaler, trajectories_follow_the_deepspeed_rule)
{
  rng r = {40};
  for (int round = 0; round < 400; round++) {
    int min = (int)rng_below(&r, 20) - 10, max = min + (int)rng_below(&r, 30);
    int log2 = min + (int)rng_below(&r, max - min + 1), hysteresis = 1 + (int)rng_below(&r, 4);
    int64_t window = 1 + rng_below(&r, 8);
    int consecutive = (int)rng_below(&r, 2), rarity = 1 + (int)rng_below(&r, 30);
    zp_scaler s = made(log2, min, max, window, hysteresis, consecutive);
    model m = {ldexp(1, log2), ldexp(1, min), ldexp(1, max), 0,          -1,
               (long)window,   hysteresis,    hysteresis,    consecutive};
    for (int step = 0; step < 500; step++) {
      int overflow = rng_below(&r, rarity + 1) == 0;
      zp_scaler_update(&s, overflow ? (step % 2 ? 1 : -7) : 0);
      model_step(&m, overflow);
      cr_assert_eq(ldexp(1, s.log2_scale), m.scale, "round %d step %d", round, step);
      cr_assert_eq(s.hysteresis_left, m.left, "round %d step %d", round, step);
      cr_assert_eq(s.iter, m.t);
      cr_assert_eq(s.last_overflow, m.u);
    }
  }
}

/* spec: SCALE-4 */
Test(num_scaler, the_scale_first_grows_after_window_plus_one_clean_steps)
{
  /* worked by hand: a step raises when q, the clean steps before it, is a positive multiple of the
   * window. o: overflow, hysteresis 1; the letter is the exponent after the step, p = 15 */
  struct {
    int64_t window;
    const char *flags, *log2;
  } row[] = {
      {2, "..........", "ppqqrrsstt"},
      {1, "....", "pqrs"},
      {3, "..........", "pppqqqrrrs"},
      {2, "...o...o..", "ppqpppqppp"},
  };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
    zp_scaler s = made(15, 0, 30, row[i].window, 1, 0);
    for (int k = 0; row[i].flags[k]; k++) {
      zp_scaler_update(&s, row[i].flags[k] == 'o');
      cr_assert_eq(s.log2_scale, row[i].log2[k] - 'a', "row %zu step %d", i, k);
    }
  }
}

/* spec: SCALE-3 */
Test(num_scaler, hysteresis_tolerates_overflows_before_the_scale_drops)
{
  zp_scaler s = made(16, 0, 24, 1000, 3, 0);
  int want[5] = {16, 16, 15, 14, 13}; /* not refilled until a raise */
  for (int k = 0; k < 5; k++) {
    zp_scaler_update(&s, 1);
    cr_assert_eq(s.log2_scale, want[k]);
    for (int j = 0; j < 7; j++) zp_scaler_update(&s, 0);
  }
  s = made(16, 0, 24, 1000, 3, 1);
  for (int k = 0; k < 5; k++) { /* one clean step refills it: the scale never drops */
    zp_scaler_update(&s, 1);
    zp_scaler_update(&s, 1);
    zp_scaler_update(&s, 0);
    cr_assert_eq(s.log2_scale, 16);
  }
}

/* spec: SCALE-3, SCALE-4 */
Test(num_scaler, scale_stays_at_its_minimum_and_maximum)
{
  zp_scaler s = made(1, 0, 3, 1, 1, 0);
  for (int k = 0; k < 5; k++) zp_scaler_update(&s, 1);
  cr_assert_eq(s.log2_scale, 0);
  for (int k = 0; k < 50; k++) zp_scaler_update(&s, 0);
  cr_assert_eq(s.log2_scale, 3);
}

/* spec: SCALE-4 */
Test(num_scaler, a_static_scale_never_changes)
{
  zp_scaler s, before;
  memset(&s, 0, sizeof s);
  cr_assert_eq(zp_scaler_init(&s, 0, 7, 0, 24, 1, 1, 0), 0);
  memcpy(&before, &s, sizeof s);
  for (int k = 0; k < 20; k++) zp_scaler_update(&s, k % 3 == 0);
  cr_assert_eq(memcmp(&before, &s, sizeof s), 0);
}

/* spec: SCALE-1 */
Test(num_scaler, refused_settings_leave_the_scaler_untouched)
{
  struct {
    int32_t dynamic, log2, min, max;
    int64_t window;
    int32_t hysteresis, consecutive;
  } row[] = {
      {2, 0, 0, 10, 1, 1, 0},
      {-1, 0, 0, 10, 1, 1, 0},
      {1, 11, 0, 10, 1, 1, 0},
      {1, -1, 0, 10, 1, 1, 0},
      {1, 0, -127, 10, 1, 1, 0},
      {1, 0, 0, 127, 1, 1, 0},
      {1, 5, 6, 4, 1, 1, 0},
      {1, 0, 0, 10, 0, 1, 0},
      {1, 0, 0, 10, -5, 1, 0},
      {1, 0, 0, 10, 1, 0, 0},
      {1, 0, 0, 10, 1, -1, 0},
      {1, 0, 0, 10, 1, 1, 2},
      {1, 0, 0, 10, 1, 1, -1},
      {1, 127, 127, 127, 1, 1, 0},
      {1, INT32_MIN, INT32_MIN, INT32_MAX, 1, 1, 0},
  };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
    zp_scaler s, before;
    memset(&s, 0x5a, sizeof s);
    memcpy(&before, &s, sizeof s);
    cr_assert_eq(zp_scaler_init(&s, row[i].dynamic, row[i].log2, row[i].min, row[i].max,
                                row[i].window, row[i].hysteresis, row[i].consecutive),
                 -1, "row %zu", i);
    cr_assert_eq(memcmp(&before, &s, sizeof s), 0, "row %zu", i);
  }
  zp_scaler s;
  cr_assert_eq(zp_scaler_init(&s, 1, 126, -126, 126, INT64_MAX, INT32_MAX, 1), 0);
  cr_assert_eq(zp_scaler_init(&s, 1, -126, -126, -126, 1, 1, 0), 0);
}

/* spec: SCALE-2 */
Test(num_scaler, only_powers_of_two_in_range_are_accepted)
{
  for (int e = -1100; e <= 1023; e++) {
    double x = ldexp(1, e);
    int32_t log2 = 999;
    int want = e >= -126 && e <= 126 ? 0 : -1;
    cr_assert_eq(zp_scaler_from_f64(bits64_of(x), &log2), want, "2^%d", e);
    cr_assert_eq(log2, want == 0 ? e : 999);
    cr_assert_eq(zp_scaler_from_f64(bits64_of(-x), &log2), -1);
    cr_assert_eq(zp_scaler_from_f64(bits64_of(nextafter(x, 0)), &log2), -1);
    cr_assert_eq(zp_scaler_from_f64(bits64_of(x * 1.5), &log2), -1);
  }
  double bad[] = {0.0, -0.0, 3.0, 65535.0, 1e300, INFINITY, -INFINITY, NAN, 0.1};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    int32_t log2 = 999;
    cr_assert_eq(zp_scaler_from_f64(bits64_of(bad[i]), &log2), -1);
    cr_assert_eq(log2, 999);
  }
}
