/* spec: PART-2 */
#include "flat_size.h"

int64_t zp_flat_size(const zp_param *p, int64_t align)
{
  if (p->frozen || p->tied >= 0) return p->numel;
  //@ assert unit: UnitOf(align, 1) == align;
  //@ assert whole: Multiple(RoundUp(p->numel, UnitOf(align, 1)), align);
  return (p->numel + align - 1) / align * align;
}
