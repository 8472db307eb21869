/* The memory that a rank is to need at most. Bytes a parameter, with p bytes of its dtype (bf16:
 * 2), masters and moments in fp32, D members of its flat group (stage 0: D is 1), and packed sums:
 *
 *   stages 0, 1   parameter p, window 4, state 12 / D           bf16: 18; 6 + 12 / D
 *   stage 2       parameter p, state 12 / D, sum of the shard:
 *     native, ordered                      4 / D                      2 + 16 / D
 *     exact                               40 / D                      2 + 52 / D
 *     exact, fp16 gradients               12 / D                      2 + 24 / D
 *
 * Beside them b for the whole rank: (slots + 2) buckets of fp32, and the room for gradients that
 * come before their turn. */
#include "../../ref/engine/bucket_slots.h"
#include "../../ref/engine/window.h"
#include "counters.h"

static int is_known(const zp_counters_job *job)
{
  const zp_config *c = job->cfg;
  return !job->offload && c->tied_keys == 0 && c->precision != ZP_F32 &&
         (c->stage == 2 || c->reduce != ZP_EXACT);
}

static double of_entry(const zp_counters_job *job, const zp_layout *lay, int32_t i)
{
  const zp_config *c = job->cfg;
  const int32_t j = lay->first_param + i, dtype = zp_gradient_dtype(c, job->hyper, j);
  const double p = (double)zp_dtype_bytes(zp_entry_dtype(c, j));
  if (c->params[j].frozen) return p;
  const double D = c->stage == 0 ? 1 : lay->flat[lay->spot[i].flat].members;
  if (c->stage < 2) return p + 4 + 12 / D;
  return p + (12 + (double)zp_kept_sum_bytes(c->stage, c->reduce, dtype)) / D;
}

zp_count_goal zp_counters_goal(const zp_counters_job *job, const zp_config *own,
                               const zp_layout *lay, int64_t early)
{
  const int32_t slots = own->stage == 2 ? zp_slot_count(own, lay, job->hyper->slots) : 0;
  zp_count_goal g = {.known = is_known(job), .allowance = (slots + 2) * own->bucket * 4 + early};
  for (int32_t i = 0; i < lay->n_params; i++) {
    const double numel = (double)job->cfg->params[lay->first_param + i].numel;
    g.params += numel;
    if (g.known) g.bytes += numel * of_entry(job, lay, i);
  }
  g.known = g.known && g.params > 0;
  return g;
}
