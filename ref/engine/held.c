#include "held.h"

#include <stdio.h>

#include "../plan/program.h"
#include "window.h"

zp_held zp_held_from(const zp_config *cfg, const zp_block_rank *block, const zp_layout *lay,
                     int32_t param, int64_t from)
{
  zp_held run = {0};
  const int32_t i = param - lay->first_param;
  if (i < 0 || i >= lay->n_params || lay->spot[i].flat < 0) return run;
  if (from < 0 || from >= cfg->params[param].numel) return run; /* and from + start is small */
  const int32_t k = lay->flat[lay->spot[i].flat].holder; /* further uses have no state (TIE-2) */
  const int64_t start = lay->spot[i].start, end = start + cfg->params[param].numel;
  const int64_t capacity = lay->flat[k].capacity;
  for (int64_t b = (start + from) / capacity; b * capacity < end; b++) {
    const zp_range p = zp_local_range(&block->cfg, lay, block->at, k, b);
    const int64_t low = p.flat > start + from ? p.flat : start + from;
    const int64_t high = p.flat + p.count < end ? p.flat + p.count : end;
    const int64_t at = p.at + (low - p.flat);
    if (low < high && run.count == 0)
      run = (zp_held){.offset = low - start, .count = high - low, .flat = k, .at = at};
    else if (low < high && low - start == run.offset + run.count && at == run.at + run.count)
      run.count += high - low;
    else if (run.count > 0) break;
  }
  return run;
}

/* Is the request complete and between steps? */
static int check_call(const zp_config *cfg, const zp_held_request *q, int32_t rank, zp_error *err)
{
  if (q->param < 0 || q->param >= cfg->n_params)
    return zp_fail(err, ZP_E_REFUSED, rank, "rank %d: %s: %d is not an entry; there are %d",
                   (int)rank, q->function, (int)q->param, (int)cfg->n_params);
  if (q->state != ZP_WHAT_MASTER && q->state != ZP_WHAT_MOMENT1 && q->state != ZP_WHAT_MOMENT2)
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: %s: %d is not a state; it is ZP_WHAT_MASTER, ZP_WHAT_MOMENT1 or "
                   "ZP_WHAT_MOMENT2",
                   (int)rank, q->function, (int)q->state);
  if (q->announced)
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: %s: gradients or losses were announced for a step that has not been "
                   "ended; call it between two steps",
                   (int)rank, q->function);
  if (q->offset < 0 || q->count < 0 || (q->count > 0 && q->data == NULL))
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: %s: offset and count are %lld and %lld, and the array is %s; they are "
                   "0 or more, and the array may be NULL only if count is 0",
                   (int)rank, q->function, (long long)q->offset, (long long)q->count,
                   q->data == NULL ? "NULL" : "set");
  return ZP_OK;
}

int zp_held_check(const zp_config *cfg, const zp_block_rank *block, const zp_layout *lay,
                  const zp_held_request *q, int32_t rank, zp_error *err)
{
  int64_t left = q->count, next = q->offset;
  char found[80] = "none after that";
  if (check_call(cfg, q, rank, err)) return err->status;
  while (left > 0) {
    const zp_held run = zp_held_from(cfg, block, lay, q->param, next);
    if (run.count > 0 && run.offset > next)
      snprintf(found, sizeof found, "the next run is %lld … %lld", (long long)run.offset,
               (long long)(run.offset + run.count - 1));
    if (run.count == 0 || run.offset > next)
      return zp_fail(err, ZP_E_REFUSED, rank,
                     "rank %d: %s: this rank does not hold element %lld of entry %d, which has "
                     "%lld; %s (zp_engine_held lists them)",
                     (int)rank, q->function, (long long)next, (int)q->param,
                     (long long)cfg->params[q->param].numel, found);
    if (run.count >= left) return ZP_OK;
    left -= run.count;
    next += run.count;
  }
  return ZP_OK;
}
