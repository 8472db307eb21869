/* spec: STEP-2, STEP-3 */
#include "take.h"

void zp_cuda_begin_program(zp_cuda_rank *r, int32_t phase)
{
  zp_cursor *c = &r->progress.host.cursor;
  zp_cursor_begin(c, r->plan.program[phase], r->plan.length[phase], phase);
  if (phase == ZP_PHASE_STEP) zp_cursor_means(c, r->plan.last, r->progress.issued);
}

static int refused(zp_cuda_rank *r, const char *call, int64_t p)
{
  return zp_cuda_fail(r, ZP_E_INTERNAL, "%s of program position %lld is out of turn", call,
                      (long long)p);
}

int zp_cuda_take(zp_cuda_rank *r)
{
  zp_cursor *c = &r->progress.host.cursor;
  return zp_cursor_take(c) >= 0 ? 0 : refused(r, "zp_cursor_take", zp_cursor_position(c));
}

int zp_cuda_take_early(zp_cuda_rank *r, int64_t p)
{
  if (zp_cursor_take_early(&r->progress.host.cursor, p) == 0) return 0;
  return refused(r, "zp_cursor_take_early", p);
}

int zp_cuda_done(zp_cuda_rank *r)
{
  zp_cursor *c = &r->progress.host.cursor;
  return zp_cursor_done(c) == 0 ? 0 : refused(r, "zp_cursor_done", zp_cursor_position(c));
}
