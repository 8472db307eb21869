/* Alarms as the engine tells them, on a line as processes have it. spec: LEDG-7 */
#include "outside.h"

#include <stdlib.h>
#include <string.h>

#include "../../ref/engine/alarm.h"
#include "../../ref/engine/error.h"

_Static_assert((int)ZP_ALARM_TEXT == (int)ZP_CUDA_TEXT, "an error travels whole");
_Static_assert((int)ZP_E_PEER == (int)ZP_CUDA_E_PEER, "the line's own alarms have this status");

enum { PATIENCE_S = 60 };

struct zp_cuda_line {
  int32_t rank;
  zp_alarm_line *line;
};

static void tell(void *ctx, const zp_cuda_alarm *alarm)
{
  const zp_cuda_line *l = ctx;
  zp_alarm a = {.rank = l->rank, .status = alarm->status, .step = alarm->step};
  memcpy(a.text, alarm->text, sizeof a.text);
  zp_alarm_tell(l->line, &a);
}

static int hear(void *ctx, zp_cuda_alarm *alarm)
{
  const zp_cuda_line *l = ctx;
  zp_alarm a;
  if (!zp_alarm_hear(l->line, &a)) return 0;
  alarm->rank = a.rank;
  alarm->status = a.status;
  alarm->step = a.step;
  memcpy(alarm->text, a.text, sizeof alarm->text);
  return 1;
}

zp_cuda_line *zp_cuda_open_line(int32_t rank, int32_t world,
                                int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n),
                                void *ctx, zp_cuda_outside *outside)
{
  zp_cuda_line *l = calloc(1, sizeof *l);
  if (!l) return NULL;
  l->rank = rank;
  if (zp_alarm_open(&l->line, rank, world, exchange, ctx, PATIENCE_S)) {
    free(l);
    return NULL;
  }
  *outside = (zp_cuda_outside){l, tell, hear};
  return l;
}

void zp_cuda_close_line(zp_cuda_line *line)
{
  if (!line) return;
  zp_alarm_close(line->line);
  free(line);
}
