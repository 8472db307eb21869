/* The least traffic of a step, by the formulas below: every array is read once and written once by
 * each pass that no other pass could include. Bytes per parameter, with p bytes of its dtype (bf16:
 * 2), masters and moments in fp32, and D data-parallel ranks, of which each has 1/D of the state
 * (stage 0: all of it, D is 1 below); of parameters of several dtypes the mean:
 *
 *   update                     reads gradient, master and moments, writes master, moments and
 *                              parameter                                        (28 + p) / D
 *   norm                       reads the sums                                          4 / D
 *   means of exact sums        read 72 bytes of limbs, write the mean, count squares  76 / D
 *                              stage 2: 40 bytes                                      44 / D
 *
 * With g bytes of a gradient (p, or 4): stage 2, of each micro-batch; a mere copy of the caller's
 * gradient into a bucket is not the engine's own:
 *   native                     widens a 16-bit gradient into a bucket                  g + 4
 *                              adds to the sum, from the second micro-batch on       12 / D
 *   ordered                    reads all members' parts                                    g
 *                              writes the sum, and from the second one on reads it 4, 8 / D
 *   exact                      the same with sums of 40 bytes                  g, 40, 80 / D
 *                              of fp16: 12 bytes                               g, 12, 24 / D
 *
 * Stages 0 and 1:
 *   window                     reads the gradient, writes the sum                      g + 4
 *                              from the second micro-batch on reads it, too            g + 8
 *                              exact: with sums of 72 bytes                  g + 72, g + 144
 *                              fp32 gradients in place, unless exact                       0
 *   ordered                    reads all members' parts, writes the sum            4 + 4 / D
 *
 * The buffers of communications are counted apart. */
#include "counters.h"

static int is_known(const zp_counters_job *job)
{
  const zp_config *c = job->cfg;
  if (job->offload || c->tp > 1 || c->ep > 1 || c->tied_keys > 0 || zp_replicas(job->hyper) > 1)
    return 0;
  for (int32_t i = 0; i < c->n_params; i++)
    if (c->params[i].frozen) return 0;
  return 1;
}

/* Of an exact sum 72, packed 40, of fp16 gradients 12. RED-5, SUM-8, SUM-9 */
static double bytes_of_sum(const zp_config *c, int32_t gradient)
{
  if (c->reduce != ZP_EXACT) return 4;
  return c->stage < 2 ? 72 : gradient == ZP_F16 ? 12 : 40;
}

static double of_reduction(const zp_counters_job *job, double g, double sum, double share)
{
  const zp_config *c = job->cfg;
  const double M = (double)c->micro_batches;
  const int written = job->in_place && g == 4 && c->reduce == ZP_ORDERED; /* by backward */
  const double window = written ? 0 : M * (g + sum) + (M - 1) * sum;
  if (c->stage < 2 && c->reduce == ZP_ORDERED && !job->native) return window + 4 + 4 * share;
  if (c->stage < 2) return window;
  if (job->native) return (g < 4 ? M * (g + 4) : 0) + (M - 1) * 12 * share;
  return M * g + (sum + (M - 1) * 2 * sum) * share;
}

static double of_entry(const zp_counters_job *job, int32_t j)
{
  const zp_config *c = job->cfg;
  const double p = (double)zp_dtype_bytes(zp_entry_dtype(c, j));
  const int32_t gradient = zp_gradient_dtype(c, job->hyper, j);
  const double g = (double)zp_dtype_bytes(gradient), sum = bytes_of_sum(c, gradient);
  const double share = c->stage == 0 ? 1 : 1.0 / c->dp;
  const double mean = c->reduce == ZP_EXACT ? sum + 4 : 4;
  return of_reduction(job, g, sum, share) + (mean + 28 + p) * share;
}

double zp_counters_ideal(const zp_counters_job *job)
{
  const zp_config *c = job->cfg;
  double bytes = 0, params = 0;
  if (!is_known(job)) return -1;
  for (int32_t j = 0; j < c->n_params; j++) {
    bytes += (double)c->params[j].numel * of_entry(job, j);
    params += (double)c->params[j].numel;
  }
  return params > 0 ? bytes / params : -1;
}
