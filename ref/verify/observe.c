#include "observe.h"

#include <string.h>

#include "../engine/message_shape.h"

void zp_issued_messages(const zp_workload *work, const zp_config *cfg, zp_mb at, zp_issued *issued,
                        zp_message *send, zp_message *recv)
{
  const zp_op *op = issued->op;
  const int32_t stage = issued->at.pp, dp = issued->at.dp;
  const int to_next = op->root > stage;
  issued->send = issued->recv = NULL;
  if (op->kind != ZP_OP_P2P) return;
  if (op->mb >= 0) {
    at.mb = op->mb;
    if (to_next) zp_activation_shape(work, cfg, stage, dp, at, send);
    else zp_activation_gradient_shape(work, cfg, stage - 1, dp, at, send);
    issued->send = send;
  }
  if (op->recv_mb >= 0) {
    at.mb = op->recv_mb;
    if (to_next) zp_activation_gradient_shape(work, cfg, stage, dp, at, recv);
    else zp_activation_shape(work, cfg, stage - 1, dp, at, recv);
    issued->recv = recv;
  }
}

const char *zp_observed_option(const zp_backend *backend, const zp_observed_run *run,
                               const char *name)
{
  for (int32_t i = 0; i < ZP_BACKEND_OPTIONS && backend->option[i].name != NULL; i++)
    if (strcmp(backend->option[i].name, name) == 0) return run->option[i];
  return NULL;
}
