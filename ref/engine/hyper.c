/* spec: OPT-6, SCALE-1 */
#include "hyper.h"

#include <string.h>

/* Below 1 - 10^-9, 1 - beta^t in Adam's bias correction stays far from 0; an eps below 10^-30 would
 * be close to the least normal fp32 number. */
const zp_optim_field zp_optim_fields[ZP_OPTIM_FIELDS] = {
    {"lr", offsetof(zp_optim, lr), 0, 1e30},
    {"beta1", offsetof(zp_optim, beta1), 0, 0.999999999},
    {"beta2", offsetof(zp_optim, beta2), 0, 0.999999999},
    {"eps", offsetof(zp_optim, eps), 1e-30, 1e30},
    {"weight_decay", offsetof(zp_optim, weight_decay), 0, 1e30},
    {"momentum", offsetof(zp_optim, momentum), 0, 0.999999999}};

double zp_optim_value(const zp_optim *p, const zp_optim_field *field)
{
  double x;
  memcpy(&x, (const char *)p + field->offset, sizeof x);
  return x;
}

/* A number of the options that is not from least to most, or NaN. */
static int out_of_range(zp_error *err, int32_t rank, const char *member, double x, double least,
                        double most)
{
  return zp_fail(err, ZP_E_REFUSED, rank,
                 "rank %d: options.hyper.%s is %.17g; it must be from %.10g to %.10g (OPT-6)",
                 (int)rank, member, x, least, most);
}

static int check_optim(const zp_hyper *h, int32_t g, int32_t rank, zp_error *err)
{
  const zp_optim *p = &h->optim[g];
  if (p->kind != ZP_OPTIM_SGD && p->kind != ZP_OPTIM_ADAMW)
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: options.hyper.optim[%d].kind is %d; it must be ZP_OPTIM_SGD (0) or "
                   "ZP_OPTIM_ADAMW (1)",
                   (int)rank, (int)g, (int)p->kind);
  for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++) {
    const zp_optim_field *f = &zp_optim_fields[i];
    const int adam = i >= 1 && i <= 3; /* SGD reads neither betas nor eps */
    const double x = zp_optim_value(p, f);
    char member[48] = "optim[0].";
    if (p->kind == ZP_OPTIM_SGD && adam) continue;
    if (x >= f->least && x <= f->most) continue;
    member[6] = (char)('0' + g); /* below ZP_HYPER_GROUPS, 8 */
    return out_of_range(err, rank, strcat(member, f->name), x, f->least, f->most);
  }
  return ZP_OK;
}

/* Settings that zp_scaler_init accepts, and a state that it or zp_scaler_update leaves: a
 * checkpoint with anything else is refused (CKPT-4). */
static int is_scaler(const zp_scaler *s)
{
  const int64_t most = (int64_t)1 << 62;
  zp_scaler again;
  return zp_scaler_init(&again, s->dynamic, s->log2_scale, s->log2_min, s->log2_max, s->window,
                        s->hysteresis, s->consecutive) == 0 &&
         s->window <= most && s->iter >= 0 && s->iter <= most && s->last_overflow >= -1 &&
         s->last_overflow < s->iter && s->hysteresis_left >= 1 &&
         s->hysteresis_left <= s->hysteresis;
}

int zp_hyper_check(const zp_hyper *h, int32_t rank, zp_error *err)
{
  if (h->groups < 1 || h->groups > ZP_HYPER_GROUPS)
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: options.hyper.groups is %d; it must be from 1 to %d", (int)rank,
                   (int)h->groups, (int)ZP_HYPER_GROUPS);
  for (int32_t g = 0; g < h->groups; g++)
    if (check_optim(h, g, rank, err)) return err->status;
  if (!(h->clip >= 0 && h->clip <= ZP_CLIP_MOST))
    return out_of_range(err, rank, "clip", h->clip, 0, ZP_CLIP_MOST);
  if (!(h->clip_eps >= 0 && h->clip_eps <= ZP_CLIP_MOST))
    return out_of_range(err, rank, "clip_eps", h->clip_eps, 0, ZP_CLIP_MOST);
  if (!is_scaler(&h->scaler))
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: options.hyper.scaler is not a state of a scaler, or its window is "
                   "above 2^62: call zp_scaler_init (SCALE-1)",
                   (int)rank);
  return ZP_OK;
}
