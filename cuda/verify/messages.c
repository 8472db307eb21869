#include <string.h>

#include "state.h"

void zp_diff_shape(const zp_diff_rank *w, int32_t boundary, int64_t step, int64_t mb, zp_message *m)
{
  const zp_workload *work = w->t->work;
  memset(m, 0, sizeof *m);
  if (boundary >= 0 && boundary < w->t->cfg->pp - 1)
    work->shape(work->ctx, w->t->cfg, boundary, w->at.dp, (zp_mb){step, mb, 0}, m);
}

void zp_diff_describe(const zp_diff_rank *w, int32_t boundary, zp_message *m, zp_message *to)
{
  memset(m, 0, sizeof *m);
  if (w->t->cfg->dynamic_shapes) return;
  zp_diff_shape(w, boundary, 0, 0, m);
  *to = *m;
}

int64_t zp_diff_message_bytes(const zp_diff_rank *w)
{
  int64_t most = 1;
  for (int64_t i = 0; i < w->t->steps * w->t->cfg->micro_batches * 2; i++) {
    const int64_t k = i / 2;
    zp_message m;
    int64_t bytes = 0;
    zp_diff_shape(w, w->at.pp - (int32_t)(i % 2), w->t->base + k / w->t->cfg->micro_batches,
                  k % w->t->cfg->micro_batches, &m);
    for (int32_t j = 0; j < m.n; j++) bytes += (zp_tensor_bytes(&m.t[j]) + 255) / 256 * 256;
    if (bytes > most) most = bytes;
  }
  return w->t->hooks.message_bytes ? w->t->hooks.message_bytes(w, most) : most;
}
