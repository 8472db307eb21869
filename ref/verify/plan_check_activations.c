/* The number of activation buffers of a stage, counted from the order of its work and not from the
 * planner's formula. spec: PIPE-4 */
#include "plan_check_internal.h"

/* Stage s first runs forward for as many micro-batches as there are stages after it, each of which
 * holds one of them by the time the first gradient comes back. From then on each forward is
 * followed by a backward, which frees a buffer: one more is in use, if micro-batches are left. */
int64_t zp_check_activations(int64_t stages, int64_t micro_batches, int64_t s)
{
  const int64_t after = stages - 1 - s;
  int64_t warm_up = 0;
  while (warm_up < after && warm_up < micro_batches) warm_up++;
  return warm_up + (micro_batches > warm_up ? 1 : 0);
}
