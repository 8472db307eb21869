/* How far right implementations may differ once something rounds: conformance/SPEC.md, "Bounds",
 * derives each line. */
#include <math.h>

#include "cases.h"

/* One rounding to fp32, relative. */
static const double U = 0x1p-24;

/* A clipped gradient: how far a subject and serial may differ. Σg² in fp32 in any order has
 * `elements` roundings, of which the root leaves half; 16 more for the root, up to six levels of
 * partial norms, the addition of eps, the quotient, the product, and serial's two. So
 * elements / 2 + 16 of these elements + 17 are used at first order. */
static double of_gradient(double factor, int64_t elements, double g)
{
  return factor == 1 ? 0 : fabs(g * factor) * (double)(elements + 17) * U;
}

static void sgd(zp_slack *s, const zp_optim *o, double off, double w, double m, double g)
{
  const double decay = o->lr * o->weight_decay;
  double step = fabs(g);
  if (off == 0 && s->master == 0 && s->moment1 == 0) return; /* proven exact: zp_conf_prove */
  if (o->momentum != 0) {
    s->moment1 = o->momentum * s->moment1 + off;
    step += fabs(o->momentum * m);
    s->moment1 += 2 * U * (step + s->moment1);
    off = s->moment1;
  }
  s->master = fabs(1 - decay) * s->master + o->lr * off;
  s->master += 4 * U * ((1 + decay) * fabs(w) + o->lr * step + s->master);
}

static void adamw(zp_slack *s, const zp_optim *o, const zp_optim_state *t, double off, double w,
                  double m, double v, double g)
{
  const double c1 = 1 - o->beta1, c2 = 1 - o->beta2, decay = o->lr * o->weight_decay;
  const double m1 = o->beta1 * m + c1 * g, v1 = o->beta2 * v + c2 * g * g;
  const double size = o->lr / (1 - t->beta1_pow), root = sqrt(1 - t->beta2_pow);
  double d, rel, q;
  s->moment1 = o->beta1 * s->moment1 + c1 * off;
  s->moment1 += 4 * U * (o->beta1 * fabs(m) + c1 * fabs(g) + s->moment1);
  s->moment2 = o->beta2 * s->moment2 + c2 * (2 * fabs(g) + off) * off;
  s->moment2 += 6 * U * (v1 + s->moment2);
  if (v1 > 0) { /* else every g was 0, and so is what is subtracted */
    d = sqrt(v1) / root + o->eps;
    rel = s->moment2 / v1 + 8 * U; /* 1 - sqrt(1 - x) <= x */
    q = size * fabs(m1) / d;
    s->master =
        fabs(1 - decay) * s->master + (size * s->moment1 / d + q * (rel + 8 * U)) * (1 + 2 * rel);
    s->master += 4 * U * (fabs(w) + q + s->master);
  } else {
    s->master = fabs(1 - decay) * s->master + 4 * U * fabs(w);
  }
}

void zp_slack_step(zp_slack *s, const zp_optim *o, const zp_optim_state *t, double factor,
                   int64_t elements, double w, double m, double v, double g)
{
  const double off = of_gradient(factor, elements, g);
  if (o->kind == ZP_OPTIM_ADAMW) adamw(s, o, t, off, w, m, v, g * factor);
  else sgd(s, o, off, w, m, g * factor);
}
