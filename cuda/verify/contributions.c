/* spec: RED-2, RED-3, RED-6 */
#include "contributions.h"

#include <stdlib.h>

#include "../../ref/engine/rank_query.h"
#include "../../ref/num/ordered.h"
#include "../../ref/verify/case.h"
#include "state.h"

/* The reduced gradients of a run of elements; NULL: no memory. RED-4 */
static float *means(const zp_config *c, const float *gradient, int64_t n)
{
  float *mean = malloc((size_t)n * sizeof *mean + 1);
  if (!mean) return NULL;
  if (c->reduce == ZP_EXACT) memcpy(mean, gradient, (size_t)n * sizeof *mean);
  else zp_ordered_mean_f32(mean, gradient, c->micro_batches * c->dp, n);
  return mean;
}

static void decode_flat(zp_diff_rank *w, int32_t k, int32_t log2_scale)
{
  const zp_diff *t = w->t;
  const zp_rank *r = zp_sim_rank(t->ref.sim, w->rank); /* for its layout */
  zp_diff_contributions *found = &w->t->contributions;
  for (int64_t b = 0; b < zp_buckets(&r->lay.flat[k]); b++) {
    const zp_range p = zp_rank_range(r, k, b);
    const float *gradient = zp_cuda_gradients_at(w->e, k, p);
    int32_t i = r->lay.n_params;
    zp_piece g;
    while (gradient && zp_next_piece(r, k, p, &i, &g)) {
      float *mean = means(t->cfg, gradient + g.in, g.count);
      if (mean)
        zp_synth_decode(&t->watch.rates->synth, t->cfg, t->base + w->steps_done - 1, g.param,
                        zp_copy_tp(r, g.param), zp_copy_ep(r, g.param), log2_scale, g.offset,
                        g.count, mean, found->finding, &found->n, ZP_VERDICT_FINDINGS);
      free(mean);
    }
  }
}

/* The device still has the last step's gradients: the host has issued no later step. */
int zp_diff_decode(zp_diff_rank *w, int failed)
{
  zp_diff *t = w->t;
  const zp_case *c = t->watch.rates;
  const int32_t step = w->steps_done - 1;
  if (!failed || !c || zp_ranks_as != ZP_RANKS_PROCESSES) return failed;
  const int32_t log2_scale = t->ref.result[step].log2_scale;
  if (!zp_are_coded_exactly(&c->synth, t->cfg, t->base + step, log2_scale)) return failed;
  if (cudaDeviceSynchronize() || simdev_lock(&t->contributions)) return failed;
  const int first = t->contributions.n == 0; /* under the lock: hosts of other ranks decode, too */
  for (int32_t k = 0; first && k < zp_cuda_layout_of(w->e)->n_flats; k++)
    if (zp_cuda_layout_of(w->e)->flat[k].use == 0) decode_flat(w, k, log2_scale);
  if (first) {
    t->contributions.rank = w->rank;
    t->contributions.step = step;
  }
  simdev_unlock(&t->contributions);
  return failed;
}

static int is_foreign(const zp_diff *t, const zp_synth_finding *f)
{
  const zp_block_rank *b = &zp_sim_rank(t->ref.sim, t->contributions.rank)->block;
  return f->kind <= ZP_SYNTH_UNASKED && f->who.dp / b->cfg.dp != b->index;
}

void zp_diff_say_contributions(const zp_diff *t, zp_verdict *v)
{
  if (t->contributions.n > 0)
    zp_verdict_say(v, "\nthe gradients of rank %d after step %d:", t->contributions.rank,
                   t->contributions.step);
  for (int32_t i = 0; i < t->contributions.n && v->n_findings < ZP_VERDICT_FINDINGS; i++) {
    const zp_synth_finding *f = &t->contributions.finding[i];
    char text[320];
    zp_synth_describe(t->cfg, f, text, sizeof text);
    zp_verdict_contribution(v, t->cfg, f, is_foreign(t, f));
    zp_verdict_say(v, "\n  %s", text);
    v->finding[v->n_findings++] = *f;
  }
}
