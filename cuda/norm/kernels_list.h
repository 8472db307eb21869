/* The kernels of norm.h, once for each compiler. */
#include "../kernels/vector.h"
#include "fingerprint.h"
#include "norm.h"

ZP_ON_DEVICE void zp_count_nan_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_count_nan_params *p = (const zp_count_nan_params *)params;
  int64_t found = 0;
  (void)shared, (void)phase;
  if (*p->nonfinite == 0) return;
  for (zp_walk at = zp_walk_of(&p->runs, t); at.tile < at.end; zp_walk_on(&at)) {
    const zp_span s = zp_span_of(at.tile - at.run->first_tile, at.run->count, t);
    for (int64_t i = s.i; i < s.end; i += s.step)
      found += (zp_element(p->dtype, at.run->in, i) & 0x7fffffffu) > 0x7f800000u;
  }
  zp_count(p->nan, found);
}

/* One thread: there are 20 limbs. */
ZP_ON_DEVICE void zp_root_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const zp_root_params *p = (const zp_root_params *)params;
  int64_t *w = p->words;
  uint64_t wide;
  uint32_t narrow;
  (void)shared, (void)phase;
  if (t.threadIdx[0] != 0) return;
  zp_limbs_normalise(w, ZP_SQ_LIMBS);
  if (!p->norm) return;
  if (w[ZP_NORM_COPIES] != 0 || w[ZP_NORM_REFUSED] != 0 || w[ZP_NORM_NAN] != 0) {
    wide = 0x7ff8000000000000u;
    narrow = 0x7fc00000u;
  } else if (w[ZP_NORM_NONFINITE] != 0) {
    wide = 0x7ff0000000000000u;
    narrow = 0x7f800000u;
  } else {
    wide = p->bytes == 8 ? zp_norm_f64(w) : 0;
    narrow = p->bytes == 8 ? 0 : zp_norm_f32(w);
  }
  if (p->bytes == 8) *(uint64_t *)p->norm = wide;
  else *(uint32_t *)p->norm = narrow;
}

ZP_KERNEL(count_nan, zp_count_nan_params, 1)
ZP_KERNEL(root, zp_root_params, 1)
