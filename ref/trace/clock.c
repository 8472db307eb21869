/* Clocks of several hosts. No member returns from a collective before all have entered it, so each
 * common operation limits the difference of two clocks. All limits together are a system of
 * difference constraints, which shortest paths solve. */
#include <string.h>

#include "timeline.h"

#define NONE INT64_MAX
/* Sums of limits stay below this, so that damaged times overflow nothing. */
#define BIG ((int64_t)1 << 60)

static int64_t clamp(int64_t v)
{
  return v > BIG ? BIG : v < -BIG ? -BIG : v;
}

/* All shortest paths, with each limit raised by `slack`. Returns 0 if there is no solution. */
static int paths(int32_t n, const int64_t *bound, int64_t slack, int64_t *d)
{
  const size_t m = (size_t)n;
  for (size_t i = 0; i < m * m; i++) d[i] = bound[i] == NONE ? NONE : clamp(bound[i] + slack);
  for (size_t i = 0; i < m; i++) d[i * m + i] = 0;
  for (size_t k = 0; k < m; k++)
    for (size_t i = 0; i < m; i++) {
      const int64_t to = d[i * m + k];
      if (to == NONE) continue;
      for (size_t j = 0; j < m; j++) {
        const int64_t on = d[k * m + j];
        if (on != NONE && clamp(to + on) < d[i * m + j]) d[i * m + j] = clamp(to + on);
      }
      if (d[i * m + i] < 0) return 0;
    }
  return 1;
}

static int agree(int32_t n, const int64_t *bound)
{
  for (int64_t i = 0; i < (int64_t)n * n; i++)
    if (bound[i] < 0) return 0;
  return 1;
}

int64_t zp_clock_offsets(int32_t n, const int64_t *bound, int64_t *d, int64_t *offset)
{
  const size_t m = (size_t)n;
  int64_t least = 0, most = 1;
  memset(offset, 0, m * sizeof *offset);
  if (agree(n, bound)) return 0; /* one host: the clocks are kept as they are */
  if (!paths(n, bound, 0, d)) {
    while (most < BIG && !paths(n, bound, most, d)) least = most, most *= 2;
    while (most - least > 1) {
      const int64_t half = least + (most - least) / 2;
      if (paths(n, bound, half, d)) most = half;
      else least = half;
    }
    paths(n, bound, most, d);
    least = most;
  }
  /* Shortest paths are closed: offsets that keep the limits among some clocks leave an interval for
   * the next clock. */
  for (size_t s = 1; s < m; s++) {
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (size_t r = 0; r < s; r++) {
      const int64_t up = d[s * m + r], down = d[r * m + s];
      if (up != NONE && offset[r] + up < high) high = offset[r] + up;
      if (down != NONE && offset[r] - down > low) low = offset[r] - down;
    }
    if (low != INT64_MIN && high != INT64_MAX) offset[s] = clamp(low + (high - low) / 2);
    else offset[s] = clamp(low > 0 ? low : high < 0 ? high : 0);
  }
  return least;
}
