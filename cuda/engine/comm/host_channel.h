/* The channel from process to process beside NCCL: the job's alarm line (ref/comm/job/alarm.h), for
 * zp_cuda_options.host_channel. */
#ifndef ZP_CUDA_HOST_CHANNEL_H
#define ZP_CUDA_HOST_CHANNEL_H

#include "../engine.h"

/* Collective: all ranks of the job call it. host: as in zp_alarm_open. Fills *channel, which is
 * valid until the line is closed with zp_alarm_close. A rank that does not connect within a minute
 * is left out. NULL: the exchange failed, or there is no memory. */
zp_alarm_line *
zp_cuda_open_host_channel(int32_t rank, int32_t world,
                          int (*exchange)(void *ctx, int32_t rank, void *bytes, size_t n),
                          void *ctx, const char *host, zp_cuda_host_channel *channel);

#endif
