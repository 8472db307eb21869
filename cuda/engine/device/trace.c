#include "trace.h"

#include "sync_points.h"

void zp_cuda_issuing(const zp_cuda_rank *r, const zp_op *op)
{
  const zp_cuda_position *host = &r->progress.host;
  if (op && zp_log_has(&r->log, ZP_LOG_OPS))
    zp_log_op(&r->log, ZP_LOG_OPS, host->cursor.phase, host->step,
              zp_cursor_position(&host->cursor), op);
  if (r->opt.issuing)
    r->opt.issuing(r->opt.issued_ctx, host->cursor.phase, zp_cursor_position(&host->cursor), op);
}

void zp_cuda_issued(const zp_cuda_rank *r, const zp_op *op)
{
  const zp_cuda_position *host = &r->progress.host;
  if (zp_log_has(&r->log, ZP_LOG_COMM))
    zp_log_op(&r->log, ZP_LOG_COMM, host->cursor.phase, host->step,
              zp_cursor_position(&host->cursor), op);
  if (r->opt.issued) r->opt.issued(r->opt.issued_ctx, host->cursor.phase, op);
}

static const char *stream_name(const zp_cuda_rank *r, cudaStream_t stream)
{
  return stream == r->compute  ? "compute"
         : stream == r->reduce ? "reduce"
         : stream == r->p2p    ? "p2p"
                               : "another stream";
}

void zp_cuda_launched(const zp_cuda_rank *r, const zp_cuda_action *action)
{
  static const struct {
    const char *name;
    const void *const *kernel;
  } kernels[] = {
#define ZP_KERNEL_NAME(name) {#name, &zp_kernel_##name},
      ZP_KERNELS(ZP_KERNEL_NAME)
#undef ZP_KERNEL_NAME
  };
  const char *name = "?";
  if (!zp_log_has(&r->log, ZP_LOG_STREAMS)) return;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (*kernels[i].kernel == action->kernel) name = kernels[i].name;
  zp_log_line(&r->log, ZP_LOG_STREAMS, "launch %s on %s (%p)", name, stream_name(r, action->stream),
              (void *)action->stream);
}

void zp_cuda_synced(const zp_cuda_rank *r, const zp_cuda_action *action, int32_t waited)
{
  const char *point = zp_cuda_sync_point_name(action->sync_point);
  if (zp_log_has(&r->log, ZP_LOG_STREAMS) && action->kind == ZP_CUDA_HOST_WAIT)
    zp_log_line(&r->log, ZP_LOG_STREAMS, "%s on the host, event %p%s", point, (void *)action->event,
                waited ? ", which was pending" : "");
  else if (zp_log_has(&r->log, ZP_LOG_STREAMS))
    zp_log_line(&r->log, ZP_LOG_STREAMS, "%s on %s (%p), event %p", point,
                stream_name(r, action->stream), (void *)action->stream, (void *)action->event);
  if (r->opt.synced) r->opt.synced(r->opt.issued_ctx, action->sync_point, action->event, waited);
}
