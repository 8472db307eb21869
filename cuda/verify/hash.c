#include "compare.h"
#include "same_bits.h"

/* Equal where the same numbers are. spec: NUM-4 */
uint64_t zp_hash_params(const zp_config *c, const zp_layout *lay, void *const *param)
{
  uint64_t h = 0;
  for (int32_t i = 0; i < lay->n_params; i++) {
    const int64_t n = c->params[lay->first_param + i].numel;
    const int32_t dtype = zp_entry_dtype(c, lay->first_param + i);
    for (int64_t k = 0; k < n; k++) {
      const uint32_t bits = zp_bits_at(dtype, param[i], k);
      h = (h ^ zp_as_compared(dtype, bits)) * 0x9e3779b97f4a7c15u;
    }
  }
  return h;
}
