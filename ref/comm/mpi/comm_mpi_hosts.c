/* spec: LEDG-1, LEDG-7 */
#define _GNU_SOURCE
#include "comm_mpi_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int zp_mpi_learn_hosts(zp_mpi *m)
{
  char own[ZP_MPI_HOST] = "";
  m->host = calloc((size_t)m->size, sizeof *m->host);
  if (m->host == NULL) return -1;
  gethostname(own, sizeof own - 1);
  if (MPI_Allgather(own, sizeof own, MPI_BYTE, m->host, sizeof own, MPI_BYTE, m->outside.comm))
    return -1;
  for (int32_t i = 0; i < m->size; i++) {
    int32_t first = 0;
    m->host[i][ZP_MPI_HOST - 1] = 0;
    while (strcmp(m->host[first], m->host[i]) != 0) first++;
    m->hosts += first == i;
  }
  return 0;
}

zp_mpi_on zp_mpi_on_host(const zp_mpi *m, int32_t rank)
{
  zp_mpi_on on = {""};
  if (m->hosts > 1 && rank >= 0 && rank < m->size)
    snprintf(on.text, sizeof on.text, " on %.32s", m->host[rank]);
  return on;
}

static int64_t elsewhere(const zp_mpi *m, int32_t rank)
{
  return strcmp(m->host[rank], m->host[m->rank]) != 0;
}

void zp_mpi_count_between(zp_mpi *m, const position *at)
{
  const zp_op *op = at->q->op;
  const communicator *c = at->c;
  const zp_message *msg = at->q->out_msg;
  int64_t here = 0, others = 0, bytes = zp_sent_bytes(op, c->size, c->index);
  if (m->hosts < 2) return;
  if (op->kind == ZP_OP_P2P) {
    for (int32_t i = 0; msg != NULL && op->mb >= 0 && i < msg->n; i++)
      bytes += zp_tensor_bytes(&msg->t[i]);
  }
  if (op->kind == ZP_OP_P2P || op->kind == ZP_OP_META || op->kind == ZP_OP_GATHER) {
    m->between += bytes * elsewhere(m, c->member[op->root]);
    return;
  }
  for (int32_t i = 0; i < c->size; i++) {
    others += elsewhere(m, c->member[i]);
    here += !elsewhere(m, c->member[i]);
  }
  bytes = bytes / (c->size - 1) * others;
  /* MPI may add up on this host before it sends, and broadcast from another host's copy */
  if (op->redop == ZP_RED_SUM) bytes /= here;
  if (op->kind == ZP_OP_BROADCAST && others > 0) bytes /= others;
  m->between += bytes;
}

int32_t zp_mpi_hosts(const zp_mpi *m)
{
  return m->hosts;
}

const char *zp_mpi_host(const zp_mpi *m, int32_t rank)
{
  return m->host[rank];
}

int64_t zp_mpi_sent_between(const zp_mpi *m)
{
  return m->between;
}
