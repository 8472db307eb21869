#include "message_shape.h"

#include <string.h>

void zp_activation_shape(const zp_workload *work, const zp_config *cfg, int32_t boundary,
                         int32_t dp, zp_mb at, zp_message *out)
{
  memset(out, 0, sizeof *out);
  if (boundary < 0 || boundary >= cfg->pp - 1) return;
  work->shape(work->ctx, cfg, boundary, dp, at, out);
}

void zp_activation_gradient_shape(const zp_workload *work, const zp_config *cfg, int32_t boundary,
                                  int32_t dp, zp_mb at, zp_message *out)
{
  zp_message activation;
  memset(out, 0, sizeof *out);
  zp_activation_shape(work, cfg, boundary, dp, at, &activation);
  for (int32_t i = 0; i < activation.n; i++) {
    if (activation.t[i].dtype == ZP_I64 || activation.t[i].dtype == ZP_I32) continue;
    out->t[out->n] = activation.t[i];
    out->n++;
  }
}
