/* The ledgers that an adapter publishes: conformance/ADAPTER.md, "Ledgers". */
#define _GNU_SOURCE
#include <stdlib.h>

#include "../engine/comm.h"
#include "../engine/rank_internal.h"
#include "adapter.h"

static void members(const zp_publisher *p, const zp_rank *r, const zp_op *op, char *text,
                    size_t cap)
{
  const int32_t n = zp_group_size(p->cfg, op->group, op->key, r->at);
  size_t used = 0;
  for (int32_t i = 0; i < n && used < cap; i++)
    used += (size_t)snprintf(text + used, cap - used, "%s%d", i == 0 ? "" : ",",
                             zp_group_member(p->cfg, op->group, op->key, r->at, i));
}

/* A half of an exchange, or a meta message. batch: both halves are one grouped op. */
static void publish_half(const zp_publisher *p, const zp_rank *r, const zp_op *op, const char *half,
                         const zp_message *m)
{
  const int32_t peer = zp_group_member(p->cfg, ZP_GROUP_PP, -1, r->at, op->root);
  if (op->kind == ZP_OP_META) {
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"dtype\":\"int64\",\"count\":%d,\"peer\":%d,\"batch\":%lld,"
            "\"phase\":\"meta\"}\n",
            half, ZP_META_LONGS, peer, (long long)r->pc);
    return;
  }
  for (int32_t i = 0; m != NULL && i < m->n; i++)
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"dtype\":\"%s\",\"count\":%lld,\"peer\":%d,\"batch\":%lld,"
            "\"phase\":\"activations\"}\n",
            half, zp_dtype_name(m->t[i].dtype), (long long)zp_tensor_numel(&m->t[i]), peer,
            (long long)r->pc);
}

/* What an exchange receives: what stands in the buffer's description, where a meta message has put
 * it; else the request will be made from the model. */
static void incoming(zp_rank *r, const zp_op *op, int next, zp_message *m)
{
  if (next) (void)zp_rank_describe_gradient(r, r->at.pp, op->recv_mb, m);
  else if (r->cfg->dynamic_shapes && r->act_in != NULL)
    *m = r->act_in[zp_act_place(r->act_slots, op->recv_mb)];
  else (void)zp_rank_describe(r, r->at.pp - 1, op->recv_mb, m);
}

static void publish_exchange(const zp_publisher *p, zp_rank *r, const zp_op *op)
{
  const int32_t next = op->root > r->at.pp;
  zp_message m;
  if (op->mb >= 0) {
    if (next) (void)zp_rank_describe(r, r->at.pp, op->mb, &m);
    else (void)zp_rank_describe_gradient(r, r->at.pp - 1, op->mb, &m);
    publish_half(p, r, op, "send", &m);
  }
  if (op->recv_mb >= 0) {
    incoming(r, op, next, &m);
    publish_half(p, r, op, "recv", &m);
  }
}

static void publish_collective(const zp_publisher *p, const zp_rank *r, const zp_op *op)
{
  FILE *to = p->file[r->rank];
  char who[512], key[24] = "", redop[24] = "null";
  members(p, r, op, who, sizeof who);
  /* groups of several kinds, or of two tied keys, may have the same members */
  if (op->key >= 0) snprintf(key, sizeof key, " %d", op->key);
  if (op->redop != ZP_RED_NONE) snprintf(redop, sizeof redop, "\"%s\"", zp_redop_name(op->redop));
  fprintf(to, "{\"op\":\"%s\",\"redop\":%s,\"dtype\":\"%s\",\"count\":%lld,\"group\":[%s],",
          zp_op_name(op->kind), redop, zp_dtype_name(op->dtype), (long long)op->count, who);
  fprintf(to, "\"name\":\"%s%s\",\"root\":%d,\"phase\":\"%s\"}\n", zp_group_name(op->group), key,
          op->root < 0 ? -1 : zp_group_member(p->cfg, op->group, op->key, r->at, op->root),
          zp_what_name(op->what));
}

void zp_publish(const zp_publisher *p, zp_rank *r, const zp_op *op)
{
  if (p->file == NULL || op->kind < ZP_OP_FIRST_COMM || op->kind == ZP_OP_CREATE) return;
  if (op->kind == ZP_OP_META || op->kind == ZP_OP_P2P) publish_exchange(p, r, op);
  else if (zp_group_size(p->cfg, op->group, op->key, r->at) > 1) publish_collective(p, r, op);
  fflush(p->file[r->rank]);
}

void zp_publish_step(const zp_publisher *p, int32_t rank, int32_t step)
{
  if (p->file != NULL) fprintf(p->file[rank], "{\"step\":%d}\n", step);
}

int zp_publisher_open(zp_publisher *p, const zp_config *cfg, const char *folder)
{
  p->cfg = cfg;
  p->world = zp_world(cfg);
  p->file = folder != NULL ? calloc((size_t)p->world, sizeof *p->file) : NULL;
  for (int32_t q = 0; p->file != NULL && q < p->world; q++) {
    char name[4096];
    snprintf(name, sizeof name, "%s/rank-%d.jsonl", folder, q);
    p->file[q] = fopen(name, "w");
    if (p->file[q] == NULL) return -1;
  }
  return 0;
}

void zp_publish_end(const zp_publisher *p, int32_t rank)
{
  if (p->file == NULL) return;
  fputs("{\"end\":true}\n", p->file[rank]);
  fflush(p->file[rank]);
}

void zp_publisher_close(zp_publisher *p)
{
  for (int32_t q = 0; p->file != NULL && q < p->world; q++) {
    if (p->file[q] == NULL) continue;
    fclose(p->file[q]);
  }
  free(p->file);
  p->file = NULL;
}
