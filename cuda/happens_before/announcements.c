/* The log of a rank's announcements, and the tags that name its work. */
#include <stdlib.h>
#include <string.h>

#include "happens_before.h"

void zp_hb_log_add(zp_hb_log *l, zp_hb_announcement a)
{
  if (l->n == l->cap) {
    const int64_t cap = 2 * l->cap + 64;
    zp_hb_announcement *more = realloc(l->at, (size_t)cap * sizeof *more);
    if (!more) {
      l->no_memory = 1;
      return;
    }
    l->at = more;
    l->cap = cap;
  }
  l->at[l->n++] = a;
}

void zp_hb_log_free(zp_hb_log *l)
{
  free(l->at);
  memset(l, 0, sizeof *l);
}

int64_t zp_hb_tag(int32_t what, int32_t step, int64_t position_or_mb, int32_t param)
{
  const int64_t low = what == ZP_HB_OP ? position_or_mb : position_or_mb * ZP_MAX_PARAMS + param;
  return ((int64_t)what << 58) + ((int64_t)step << 40) + low;
}
