/* spec: LEDG-7 */
#include "host_channel.h"

enum { CONNECT_S = 60 };

static void send(void *ctx, const zp_alarm *alarm)
{
  zp_alarm_tell(ctx, alarm);
}

static int receive(void *ctx, zp_alarm *alarm)
{
  return zp_alarm_hear(ctx, alarm);
}

zp_alarm_line *zp_cuda_open_host_channel(int32_t rank, int32_t world,
                                         int (*exchange)(void *ctx, int32_t rank, void *bytes,
                                                         size_t n),
                                         void *ctx, const char *host, zp_cuda_host_channel *channel)
{
  zp_alarm_line *line;
  if (zp_alarm_open(&line, rank, world, exchange, ctx, host, CONNECT_S)) return NULL;
  *channel = (zp_cuda_host_channel){line, send, receive};
  return line;
}
