/* spec: RED-3, STRM-2 */
#include "bucket_slots.h"

#include <stdlib.h>

#include "window.h"

int zp_slots_check(int32_t slots, zp_error *err)
{
  if (slots >= 0 && slots <= ZP_SLOTS_MOST) return ZP_OK;
  return zp_fail(err, ZP_E_REFUSED, -1, "slots: %d is out of range; allowed is 0 to %d", (int)slots,
                 (int)ZP_SLOTS_MOST);
}

/* The most buckets that are filled at a time. An entry fills one at a time of its flat group; of
 * each other one it finds that open which the last entry there did not complete. */
static int32_t most_open(const zp_config *cfg, const zp_layout *lay)
{
  int32_t open = 0, most = 0;
  for (int32_t i = lay->n_params - 1; i >= 0; i--) { /* backward order */
    const zp_spot *s = &lay->spot[i];
    const zp_flat *f = s->flat < 0 ? NULL : &lay->flat[s->flat];
    const int64_t end = s->start + cfg->params[lay->first_param + i].numel;
    if (!f || end == s->start) continue;
    open += s->start % f->capacity == 0;
    if (open > most) most = open;
    open -= end % f->capacity == 0 || end == f->numel;
  }
  return most;
}

int32_t zp_slot_count(const zp_config *cfg, const zp_layout *lay, int32_t slots)
{
  const int32_t open = most_open(cfg, lay);
  if (slots > 0) return slots > open ? slots : open;
  return open < 1 ? 2 : open + 1;
}

int64_t zp_slot_elements(const zp_layout *lay)
{
  int64_t most = 0;
  for (int32_t k = 0; k < lay->n_flats; k++)
    if (zp_widest(&lay->flat[k]) > most) most = zp_widest(&lay->flat[k]);
  return most;
}

int64_t zp_slot_bytes(const zp_config *cfg, const zp_layout *lay, int32_t fp32_gradients)
{
  int64_t most = 0;
  for (int32_t k = 0; k < lay->n_flats; k++) {
    const zp_flat *f = &lay->flat[k];
    const int32_t dtype = zp_dtype_of(f->fp32 || fp32_gradients, cfg->precision);
    const int64_t bytes = zp_widest(f) * zp_dtype_bytes(dtype);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* free: a ring of the slots that no bucket has, from the one that was reduced first. */
static void assign(zp_op *ops, int64_t n, int32_t slots, int32_t *free_slot, int32_t *of)
{
  int64_t taken = 0, reduced = slots;
  for (int64_t i = 0; i < n; i++) {
    zp_op *op = &ops[i];
    if (op->kind == ZP_OP_ADD) {
      if (of[op->flat] < 0) of[op->flat] = free_slot[taken++ % slots];
      op->slot = of[op->flat];
    } else if (op->what == ZP_WHAT_GRADIENT) {
      op->slot = of[op->flat];
      free_slot[reduced++ % slots] = op->slot;
      of[op->flat] = -1;
    }
  }
}

int zp_assign_slots(const zp_config *cfg, const zp_layout *lay, int32_t slots, zp_op *ops,
                    int64_t n)
{
  const int32_t count = zp_slot_count(cfg, lay, slots);
  int32_t *list = malloc(((size_t)count + (size_t)lay->n_flats + 1) * sizeof *list);
  if (!list) return -1;
  for (int32_t i = 0; i < count; i++) list[i] = i;
  for (int32_t k = 0; k < lay->n_flats; k++) list[count + k] = -1;
  assign(ops, n, count, list, list + count);
  free(list);
  return 0;
}
