/* Laws of the gpt workload: its loss and gradients are those of the model, and the same bits for
 * every division into stages. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/model/gpt.h"
#include "../../../ref/model/gpt_cast.h"
#include "../../../ref/model/gpt_data.h"

enum { ENTRIES = 64, MBS = 6, STAGES = 6 };

/* A model with its parameters, and what its backwards delivered. */
typedef struct net {
  zp_gpt_options options;
  zp_gpt *gpt;
  zp_workload w;
  zp_config cfg;
  zp_param list[ENTRIES];
  float *value[ENTRIES]; /* fp32 */
  void *param[ENTRIES];  /* in the precision */
  void *grad[MBS][ENTRIES];
  float loss[MBS];
  int32_t now, newest; /* micro-batch in backward; entry that arrived last */
  int32_t arrived[MBS];
} net;

static uint8_t text[3000];

static void *some(int64_t bytes)
{
  void *made = calloc(1, bytes > 0 ? (size_t)bytes : 1);
  cr_assert(made != NULL);
  return made;
}

static float noise(uint64_t j, uint64_t i) /* in ±0.15 */
{
  return (float)((int)(zp_gpt_hash(9, j, i, 0) % 601) - 300) / 2e3f;
}

/* Initial values plus noise, so that no gain is 1 and no bias 0. */
static void set_up(net *n, zp_gpt_shape shape, int32_t precision, int32_t vary, int32_t tuple)
{
  char msg[100];
  for (int i = 0; i < (int)sizeof text; i++) text[i] = (uint8_t)(i * i / 5 + i / 11);
  memset(n, 0, sizeof *n);
  n->options = (zp_gpt_options){.shape = shape,
                                .data = {text, sizeof text, 17},
                                .init_seed = 4,
                                .vary_shapes = vary,
                                .tuple = tuple};
  n->gpt = zp_gpt_create(&n->options, msg, sizeof msg);
  n->w = zp_gpt_workload(n->gpt);
  n->cfg = (zp_config){.pp = 1,
                       .dp = 1,
                       .tp = 1,
                       .ep = 1,
                       .precision = precision,
                       .optgroups = 3,
                       .tied_keys = 1,
                       .n_params = zp_gpt_entries(&shape),
                       .micro_batches = 1,
                       .bucket = 64,
                       .align = 1,
                       .params = n->list};
  zp_gpt_list(&shape, 1, n->list, NULL);
  for (int32_t j = 0; j < n->cfg.n_params; j++) {
    int64_t numel = n->list[j].numel;
    n->value[j] = some(numel * 4);
    n->param[j] = some(numel * 4);
    n->w.init(n->gpt, &n->cfg, j, 0, 0, n->value[j]);
    for (int64_t i = 0; i < numel && n->list[j].optgroup != 2; i++)
      n->value[j][i] += noise((uint64_t)j, (uint64_t)i);
    zp_gpt_encode(n->param[j], n->value[j], numel, precision);
    for (int m = 0; m < MBS; m++) n->grad[m][j] = some(numel * 4);
  }
}

static void tear_down(net *n)
{
  for (int32_t j = 0; j < n->cfg.n_params; j++) {
    free(n->value[j]);
    free(n->param[j]);
    for (int m = 0; m < MBS; m++) free(n->grad[m][j]);
  }
  zp_gpt_destroy(n->gpt);
}

static int64_t bytes_of(const net *n, int32_t j)
{
  return n->list[j].numel * zp_dtype_bytes(n->cfg.precision);
}

static void arrive(void *ctx, int32_t j, const void *grad)
{
  net *n = ctx;
  cr_assert(j < n->newest, "entry %d arrived after entry %d", j, n->newest);
  n->newest = j;
  n->arrived[n->now]++;
  memcpy(n->grad[n->now][j], grad, (size_t)bytes_of(n, j));
}

static void allocate(zp_message *m)
{
  for (int32_t i = 0; i < m->n; i++) {
    int64_t bytes = zp_dtype_bytes(m->t[i].dtype);
    for (int32_t k = 0; k < m->t[i].ndim; k++) bytes *= m->t[i].dim[k];
    m->t[i].data = some(bytes);
  }
}

static void release(zp_message *m)
{
  for (int32_t i = 0; i < m->n; i++) free(m->t[i].data);
}

/* The float part of a message, with room of its own: its gradient. */
static zp_message gradient_of(const zp_message *m)
{
  zp_message g = {.n = m->n > 0};
  if (m->n > 0) g.t[0] = m->t[m->n - 1];
  allocate(&g);
  return g;
}

/* One window of M micro-batches of coordinate dp_index over pp stages, one instance each, in the
 * order of 1F1B with as many slots as it has. Results go to index mb·dp + dp_index. */
static void window(net *n, int32_t pp, int64_t M, int32_t dp, int32_t dp_index, int32_t log2_scale)
{
  static zp_message act[STAGES + 1][MBS], grad[STAGES + 1][MBS]; /* [s]: from stage s − 1 to s */
  void *inst[STAGES];
  n->cfg.pp = pp;
  n->cfg.dp = dp;
  n->cfg.micro_batches = M;
  zp_gpt_list(&n->options.shape, pp, n->list, NULL);
  for (int32_t s = 0; s < pp; s++) {
    const void *mine[ENTRIES] = {0};
    for (int32_t j = 0; j < n->cfg.n_params; j++)
      if (n->list[j].stage == s) mine[j] = n->param[j];
    cr_assert(n->w.open(n->gpt, &n->cfg, (zp_place_of){s, s, dp_index, 0}, mine, &inst[s]) == 0);
  }
  for (int64_t t = 0; t < 2 * (M + pp); t++)
    for (int32_t s = 0; s < pp; s++) {
      int64_t f = t - s, b = t - 2 * pp + 1 + s;
      int64_t slots = pp - s < M ? pp - s : M;
      zp_mb at = {.step = 1, .mb = f / 2, .log2_scale = log2_scale};
      if (f >= 0 && f % 2 == 0 && f / 2 < M) {
        zp_message *out = &act[s + 1][at.mb];
        n->w.shape(n->gpt, &n->cfg, s, dp_index, at, out);
        allocate(out);
        if (s == 0) act[0][at.mb] = (zp_message){.n = 0};
        float loss = NAN;
        cr_assert(n->w.forward(inst[s], at, (int32_t)(at.mb % slots), &act[s][at.mb], out, &loss) ==
                  0);
        if (s == pp - 1) n->loss[at.mb * dp + dp_index] = loss;
        grad[s + 1][at.mb] = gradient_of(out);
      }
      if (b >= 0 && b % 2 == 0 && b / 2 < M) {
        at.mb = b / 2;
        if (s == 0) grad[0][at.mb] = (zp_message){.n = 0};
        n->now = (int32_t)(at.mb * dp + dp_index);
        n->newest = ENTRIES;
        cr_assert(n->w.backward(inst[s], at, (int32_t)(at.mb % slots), &grad[s + 1][at.mb],
                                &grad[s][at.mb], (zp_sink){n, arrive}) == 0);
        release(&act[s + 1][at.mb]);
        release(&grad[s + 1][at.mb]);
      }
    }
  for (int32_t s = 0; s < pp; s++) n->w.close(inst[s]);
}

static void assert_same(const net *a, const net *b, int32_t mbs)
{
  for (int32_t m = 0; m < mbs; m++) {
    cr_assert(zp_float_bits(a->loss[m]) == zp_float_bits(b->loss[m]), "loss of micro-batch %d", m);
    cr_assert(a->arrived[m] == a->cfg.n_params && b->arrived[m] == b->cfg.n_params);
    for (int32_t j = 0; j < a->cfg.n_params; j++)
      cr_assert(!memcmp(a->grad[m][j], b->grad[m][j], (size_t)bytes_of(a, j)),
                "gradient of entry %d, micro-batch %d", j, m);
  }
}

/* ---- the model once more, in fp64, forward only, as plainly as possible ---- */

enum { N_MAX = 32, C_MAX = 16, T_MAX = 16 };

static void norm64(double *y, const double *x, const double *g, const double *b, int C)
{
  double mean = 0, var = 0;
  for (int c = 0; c < C; c++) mean += x[c] / C;
  for (int c = 0; c < C; c++) var += (x[c] - mean) * (x[c] - mean) / C;
  for (int c = 0; c < C; c++) y[c] = (x[c] - mean) / sqrt(var + 1e-5) * g[c] + b[c];
}

static void linear64(double *y, const double *x, const double *w, const double *b, int in, int out)
{
  for (int o = 0; o < out; o++) {
    y[o] = b[o];
    for (int i = 0; i < in; i++) y[o] += x[i] * w[i * out + o];
  }
}

/* y[t] of one sequence: every head attends to u <= t. */
static void attend64(double *y, double (*qkv)[3 * C_MAX], int t, int C, int heads)
{
  int hs = C / heads;
  for (int c = 0; c < C; c++) {
    int h = c / hs * hs;
    double sum = 0, mix = 0;
    for (int u = 0; u <= t; u++) {
      double dot = 0;
      for (int i = 0; i < hs; i++) dot += qkv[t][h + i] * qkv[u][C + h + i];
      double e = exp(dot / sqrt((double)hs));
      sum += e;
      mix += e * qkv[u][2 * C + c];
    }
    y[c] = mix / sum;
  }
}

static void block64(double (*x)[C_MAX], double *const *w, int T, int C, int heads)
{
  double h[4 * C_MAX], y[4 * C_MAX], qkv[T_MAX][3 * C_MAX];
  for (int t = 0; t < T; t++) {
    norm64(h, x[t], w[0], w[1], C);
    linear64(qkv[t], h, w[2], w[3], C, 3 * C);
  }
  for (int t = 0; t < T; t++) {
    attend64(h, qkv, t, C, heads);
    linear64(y, h, w[4], w[5], C, C);
    for (int c = 0; c < C; c++) x[t][c] += y[c];
    norm64(h, x[t], w[6], w[7], C);
    linear64(y, h, w[8], w[9], C, 4 * C);
    for (int c = 0; c < 4 * C; c++)
      y[c] = 0.5 * y[c] * (1 + tanh(sqrt(2 / acos(-1.0)) * (y[c] + 0.044715 * y[c] * y[c] * y[c])));
    linear64(h, y, w[10], w[11], 4 * C, C);
    for (int c = 0; c < C; c++) x[t][c] += h[c];
  }
}

static double loss64(const net *n, double *const *w, const int32_t *token, const int32_t *target,
                     int T)
{
  const zp_gpt_shape *s = &n->options.shape;
  int C = s->d_model, B = s->batch;
  double *const *tail = w + 2 + 12 * s->layers;
  double total = 0;
  for (int b = 0; b < B; b++, token += T, target += T) {
    double x[T_MAX][C_MAX], y[C_MAX];
    for (int t = 0; t < T; t++)
      for (int c = 0; c < C; c++) x[t][c] = w[0][token[t] * C + c] + w[1][t * C + c];
    for (int l = 0; l < s->layers; l++) block64(x, w + 2 + 12 * l, T, C, s->heads);
    for (int t = 0; t < T; t++) {
      norm64(y, x[t], tail[0], tail[1], C);
      double sum = 0, hit = 0;
      for (int v = 0; v < 256; v++) {
        double logit = 0;
        for (int c = 0; c < C; c++) logit += y[c] * tail[2][v * C + c];
        sum += exp(logit);
        if (v == target[t]) hit = logit;
      }
      total += log(sum) - hit;
    }
  }
  return total / (B * T);
}

/* Compares every element's gradient of global micro-batch g with the central difference of the fp64
 * model. The difference itself errs by h²·f'''/6 + 1e-16·loss/h, near 1e-10 at h = 1e-5. So what
 * remains is fp32's rounding: some hundred roundings of 2^-24 on the way to a gradient, relative to
 * the terms that cancel in it, whose size the entry's largest gradient stands for: 2e-5 of it. An
 * error in the formula is of its own size. */
static void check_gradients(net *n, int32_t g)
{
  int T = zp_gpt_context_of(&n->options, g);
  int32_t token[N_MAX], target[N_MAX];
  double *w[ENTRIES];
  zp_gpt_read(&n->options, 1, g, token, target);
  for (int32_t j = 0; j < n->cfg.n_params; j++) {
    w[j] = some(n->list[j].numel * 8);
    for (int64_t i = 0; i < n->list[j].numel; i++) w[j][i] = (double)n->value[j][i];
  }
  double loss = loss64(n, w, token, target, T);
  cr_assert(fabs(n->loss[g] - loss) <= 1e-6 * loss, "loss %.9g, not %.9g", n->loss[g], loss);
  for (int32_t j = 0; j < n->cfg.n_params; j++) {
    const float *got = n->grad[g][j];
    double most = 0;
    for (int64_t i = 0; i < n->list[j].numel; i++) most = fmax(most, fabs((double)got[i]));
    cr_assert(most > 1e-4, "entry %d has no gradient", j);
    for (int64_t i = 0; i < n->list[j].numel; i++) {
      double x = w[j][i], h = 1e-5;
      w[j][i] = x + h;
      double up = loss64(n, w, token, target, T);
      w[j][i] = x - h;
      double slope = (up - loss64(n, w, token, target, T)) / (2 * h);
      w[j][i] = x;
      cr_assert(fabs((double)got[i] - slope) <= 2e-5 * most + 1e-9,
                "entry %d, element %d: %.9g, not %.9g (largest %.3g)", j, (int)i, got[i], slope,
                most);
    }
  }
  for (int32_t j = 0; j < n->cfg.n_params; j++) free(w[j]);
}

static const zp_gpt_shape tiny = {2, 8, 2, 5, 2, 0};

Test(model_gpt, gradients_are_slopes_of_the_loss)
{
  static net n;
  set_up(&n, tiny, ZP_F32, 0, 0);
  window(&n, 1, 1, 1, 0, 0);
  check_gradients(&n, 0);
  tear_down(&n);
}

Test(model_gpt, gradients_are_slopes_of_the_loss_for_shorter_contexts)
{
  static net n;
  set_up(&n, (zp_gpt_shape){1, 6, 3, 7, 1, 0}, ZP_F32, 1, 0);
  window(&n, 1, 3, 1, 0, 0);
  check_gradients(&n, 2); /* context 5 */
  tear_down(&n);
}

Test(model_gpt, loss_and_gradients_are_the_same_bits_for_every_pp)
{
  static net one, many;
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++)
    for (int32_t mode = 0; mode < 4; mode++)
      for (int32_t pp = 1; pp <= 6; pp++) { /* up to each layer on a stage of its own */
        zp_gpt_shape shape = {4, 12, 3, 9, 2, 0};
        set_up(&one, shape, precision, mode / 2, mode % 2);
        set_up(&many, shape, precision, mode / 2, mode % 2);
        window(&one, 1, 5, 1, 0, 8);
        window(&many, pp, 5, 1, 0, 8);
        assert_same(&one, &many, 5);
        tear_down(&one);
        tear_down(&many);
      }
}

Test(model_gpt, an_instance_of_several_stages_equals_a_chain_of_them)
{
  static net chain, serial;
  set_up(&chain, tiny, ZP_BF16, 1, 1);
  set_up(&serial, tiny, ZP_BF16, 1, 1);
  window(&chain, 3, 3, 1, 0, 0);
  void *inst;
  const zp_message none = {.n = 0};
  serial.cfg.pp = 3;
  serial.cfg.micro_batches = 3;
  zp_gpt_list(&tiny, 3, serial.list, NULL);
  cr_assert(serial.w.open(serial.gpt, &serial.cfg, (zp_place_of){0, 2, 0, 0},
                          (const void *const *)serial.param, &inst) == 0);
  for (int32_t m = 0; m < 3; m++) {
    zp_mb at = {.step = 1, .mb = m};
    serial.now = m;
    serial.newest = ENTRIES;
    cr_assert(serial.w.forward(inst, at, m, &none, &none, &serial.loss[m]) == 0);
    cr_assert(serial.w.backward(inst, at, m, &none, &none, (zp_sink){&serial, arrive}) == 0);
  }
  serial.w.close(inst);
  assert_same(&chain, &serial, 3);
  tear_down(&chain);
  tear_down(&serial);
}

Test(model_gpt, micro_batches_are_the_same_however_dp_splits_them)
{
  static net one, split;
  set_up(&one, tiny, ZP_BF16, 1, 0);
  set_up(&split, tiny, ZP_BF16, 1, 0);
  window(&one, 1, 6, 1, 0, 0);
  for (int32_t dp_index = 0; dp_index < 3; dp_index++) window(&split, 2, 2, 3, dp_index, 0);
  assert_same(&one, &split, 6);
  cr_assert(one.loss[0] != one.loss[1] && one.loss[1] != one.loss[4]);
  tear_down(&one);
  tear_down(&split);
}

Test(model_gpt, loss_scale_multiplies_gradients_exactly_and_not_the_loss)
{
  static net plain, scaled;
  for (int32_t log2_scale = -6; log2_scale <= 24; log2_scale += 10) {
    set_up(&plain, tiny, ZP_F32, 0, 0);
    set_up(&scaled, tiny, ZP_F32, 0, 0);
    window(&plain, 2, 1, 1, 0, 0);
    window(&scaled, 2, 1, 1, 0, log2_scale);
    cr_assert(plain.loss[0] == scaled.loss[0]);
    for (int32_t j = 0; j < plain.cfg.n_params; j++) {
      const float *a = plain.grad[0][j], *b = scaled.grad[0][j];
      for (int64_t i = 0; i < plain.list[j].numel; i++)
        cr_assert(ldexpf(a[i], log2_scale) == b[i], "entry %d, element %d", j, (int)i);
    }
    tear_down(&plain);
    tear_down(&scaled);
  }
}

Test(model_gpt, huge_scale_overflows_fp16_gradients_and_no_others)
{
  static net n;
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++) {
    set_up(&n, tiny, precision, 0, 0);
    window(&n, 2, 1, 1, 0, 30);
    int bad = 0;
    for (int32_t j = 0; j < n.cfg.n_params; j++) {
      float *g = some(n.list[j].numel * 4);
      zp_gpt_decode(g, n.grad[0][j], n.list[j].numel, precision);
      for (int64_t i = 0; i < n.list[j].numel; i++) bad += !isfinite(g[i]);
      free(g);
    }
    cr_assert((bad > 0) == (precision == ZP_F16), "%d non-finite", bad);
    tear_down(&n);
  }
}

Test(model_gpt, a_frozen_entry_is_unused_and_its_gradient_does_not_arrive)
{
  static net n;
  set_up(&n, tiny, ZP_F32, 0, 0);
  n.list[5].frozen = 1;
  void *inst;
  const zp_message none = {.n = 0};
  zp_mb at = {.step = 1};
  n.newest = ENTRIES;
  cr_assert(n.w.used(n.gpt, &n.cfg, 4, 0, 0, at) == 1 && n.w.used(n.gpt, &n.cfg, 5, 0, 0, at) == 0);
  cr_assert(
      n.w.open(n.gpt, &n.cfg, (zp_place_of){0, 0, 0, 0}, (const void *const *)n.param, &inst) == 0);
  cr_assert(n.w.forward(inst, at, 0, &none, &none, &n.loss[0]) == 0);
  cr_assert(n.w.backward(inst, at, 0, &none, &none, (zp_sink){&n, arrive}) == 0);
  n.w.close(inst);
  cr_assert(n.arrived[0] == n.cfg.n_params - 1);
  const float *g = n.grad[0][5];
  for (int64_t i = 0; i < n.list[5].numel; i++) cr_assert(g[i] == 0.0f);
  tear_down(&n);
}

/* A stage that got another stage's or micro-batch's message must say so, not compute. */
Test(model_gpt, messages_of_another_dtype_or_shape_are_refused)
{
  static net n;
  void *inst;
  float loss;
  zp_mb at = {.step = 1};
  const zp_message none = {.n = 0};
  set_up(&n, tiny, ZP_BF16, 0, 1);
  n.cfg.pp = 2;
  zp_gpt_list(&tiny, 2, n.list, NULL);
  cr_assert(
      n.w.open(n.gpt, &n.cfg, (zp_place_of){1, 1, 0, 0}, (const void *const *)n.param, &inst) == 0);
  zp_message good;
  n.w.shape(n.gpt, &n.cfg, 0, 0, at, &good);
  allocate(&good);
  cr_assert(good.n == 2 && good.t[0].dtype == ZP_I32 && good.t[1].dtype == ZP_BF16);
  cr_assert(n.w.forward(inst, at, 0, &good, &none, &loss) == 0);
  for (int32_t kind = 0; kind < 9; kind++) {
    zp_message bad = good;
    if (kind == 0) bad.n = 1;
    if (kind == 1) bad = none;
    if (kind == 2) bad.t[0].dtype = ZP_I64;
    if (kind == 3) bad.t[1].dtype = ZP_F16;
    if (kind == 4) bad.t[1].ndim = 2;
    if (kind == 5) bad.t[0].dim[1]--;
    if (kind == 6) bad.t[1].dim[2]++;
    if (kind == 7) bad.t[1].data = NULL;
    if (kind == 8) bad.t[0] = good.t[1], bad.t[1] = good.t[0];
    cr_assert(n.w.forward(inst, at, 0, &bad, &none, &loss) == -1, "kind %d", kind);
  }
  ((int32_t *)good.t[0].data)[3] = 256;
  cr_assert(n.w.forward(inst, at, 0, &good, &none, &loss) == -1);
  ((int32_t *)good.t[0].data)[3] = 255;
  cr_assert(n.w.forward(inst, at, 0, &good, &good, &loss) == -1);
  cr_assert(n.w.forward(inst, at, 1, &good, &none, &loss) == -1);
  cr_assert(n.w.backward(inst, at, 0, &none, &good, (zp_sink){&n, arrive}) == -1);
  release(&good);
  n.w.close(inst);
  tear_down(&n);
}

Test(model_gpt, lists_of_another_model_are_refused)
{
  static net n;
  void *inst;
  zp_place_of all = {0, 0, 0, 0};
  set_up(&n, tiny, ZP_F32, 0, 0);
  n.list[4].numel++;
  cr_assert(n.w.open(n.gpt, &n.cfg, all, (const void *const *)n.param, &inst) == -1);
  n.list[4].numel--;
  n.cfg.n_params--;
  cr_assert(n.w.open(n.gpt, &n.cfg, all, (const void *const *)n.param, &inst) == -1);
  n.cfg.n_params++;
  n.cfg.pp = 5;
  cr_assert(n.w.open(n.gpt, &n.cfg, all, (const void *const *)n.param, &inst) == -1);
  tear_down(&n);
}

static uint64_t mix_in(uint64_t h, const void *bytes, int64_t n)
{
  for (int64_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)bytes)[i]) * 1099511628211u; /* FNV */
  return h;
}

/* The same constants for every compiler, CPU and vector width; they change only when the model, its
 * order of operations or its initial values do. */
Test(model_gpt, default_shape_gives_the_recorded_bits)
{
  static net n;
  const uint64_t want[3] = {0x916a4fabd302486d, 0x6bb615a0478f54e0, 0xfe35d5a25c2558e7};
  for (int32_t precision = ZP_F32; precision <= ZP_F16; precision++) {
    set_up(&n, zp_gpt_shape_default(), precision, 1, 0);
    window(&n, 2, 2, 1, 0, 10);
    uint64_t h = 14695981039346656037u;
    for (int m = 0; m < 2; m++) {
      h = mix_in(h, &n.loss[m], 4);
      for (int32_t j = 0; j < n.cfg.n_params; j++) h = mix_in(h, n.grad[m][j], bytes_of(&n, j));
    }
    cr_assert(h == want[precision], "precision %d: 0x%016llx", precision, (unsigned long long)h);
    tear_down(&n);
  }
}

/* SGD on one micro-batch until the model knows it: forward, backward, loss_of and sample agree on
 * what the model is. */
Test(model_gpt, a_memorised_text_is_reproduced)
{
  static net n;
  set_up(&n, (zp_gpt_shape){1, 16, 2, 16, 4, 0}, ZP_F32, 0, 0);
  n.options.data.bytes = (const uint8_t *)"abcdefghijklmnopqrstuvwxyz";
  n.options.data.n = 26;
  zp_gpt_destroy(n.gpt);
  n.gpt = zp_gpt_create(&n.options, NULL, 0);
  n.w = zp_gpt_workload(n.gpt);
  int32_t last = n.cfg.n_params - 1;
  for (int step = 0; step < 400; step++) {
    memset(n.arrived, 0, sizeof n.arrived);
    window(&n, 1, 2, 1, 0, 0);
    for (int32_t j = 0; j < n.cfg.n_params; j++)
      for (int64_t i = 0; i < n.list[j].numel; i++) {
        float g = ((float *)n.grad[0][j])[i] + ((float *)n.grad[1][j])[i];
        ((float *)n.param[j == last ? 0 : j])[i] -= 0.1f * g;
      }
    memcpy(n.param[last], n.param[0], (size_t)bytes_of(&n, 0));
  }
  double loss;
  const float *const *params = (const float *const *)n.param;
  cr_assert(zp_gpt_loss_of(&n.options.shape, params, n.options.data.bytes, 26, &loss) == 0);
  cr_assert(loss < 0.5, "loss %g", loss);
  uint8_t out[24], again[24];
  cr_assert(zp_gpt_sample(&n.options.shape, params, (const uint8_t *)"a", 1, 0, 0, out, 24) == 0);
  cr_assert(!memcmp(out, "bcdefghijklmno", 14), "%.24s", (const char *)out);
  zp_gpt_sample(&n.options.shape, params, (const uint8_t *)"ab", 2, 3.0f, 7, out, 24);
  zp_gpt_sample(&n.options.shape, params, (const uint8_t *)"ab", 2, 3.0f, 7, again, 24);
  cr_assert(!memcmp(out, again, 24));
  zp_gpt_sample(&n.options.shape, params, (const uint8_t *)"ab", 2, 3.0f, 8, again, 24);
  cr_assert(memcmp(out, again, 24) != 0);
  tear_down(&n);
}
