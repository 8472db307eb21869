#define _GNU_SOURCE
#include "ledger.h"

#include <stdlib.h>

#include "../../../ref/comm/block.h"
#include "../../../ref/comm/comm.h"

static zp_block_rank block_of(const zp_publisher *p, const zp_issued *r)
{
  return zp_block_of(p->cfg, p->replicas, r->rank);
}

static void members(const zp_publisher *p, const zp_issued *r, char *text, size_t cap)
{
  const zp_op *op = r->op;
  const zp_block_rank b = block_of(p, r);
  const int32_t n = zp_block_group_size(&b, op->group, op->key);
  size_t used = 0;
  for (int32_t i = 0; i < n && used < cap; i++)
    used += (size_t)snprintf(text + used, cap - used, "%s%d", i == 0 ? "" : ",",
                             zp_block_group_member(&b, op->group, op->key, i));
}

/* One half of an exchange. batch: both halves are one grouped op. */
static void publish_half(const zp_publisher *p, const zp_issued *r, const char *half,
                         const zp_message *m)
{
  const zp_block_rank b = block_of(p, r);
  const int32_t peer = zp_block_group_member(&b, ZP_GROUP_PP, -1, r->op->root);
  for (int32_t i = 0; m != NULL && i < m->n; i++)
    fprintf(p->file[r->rank],
            "{\"op\":\"%s\",\"dtype\":\"%s\",\"count\":%lld,\"peer\":%d,\"batch\":%lld,"
            "\"phase\":\"activations\"}\n",
            half, zp_dtype_name(m->t[i].dtype), (long long)zp_tensor_numel(&m->t[i]), peer,
            (long long)r->pc);
}

/* One half of an exchange of descriptions. */
static void publish_meta_half(const zp_publisher *p, const zp_issued *r, const char *half)
{
  const zp_block_rank b = block_of(p, r);
  fprintf(p->file[r->rank],
          "{\"op\":\"%s\",\"dtype\":\"int64\",\"count\":%d,\"peer\":%d,\"batch\":%lld,"
          "\"phase\":\"meta\"}\n",
          half, ZP_META_LONGS, zp_block_group_member(&b, ZP_GROUP_PP, -1, r->op->root),
          (long long)r->pc);
}

static void publish_exchange(const zp_publisher *p, const zp_issued *r)
{
  if (r->op->kind == ZP_OP_META) {
    if (r->op->mb >= 0) publish_meta_half(p, r, "send");
    if (r->op->recv_mb >= 0) publish_meta_half(p, r, "recv");
    return;
  }
  publish_half(p, r, "send", r->send);
  publish_half(p, r, "recv", r->recv);
}

static void publish_collective(const zp_publisher *p, const zp_issued *r)
{
  const zp_op *op = r->op;
  const zp_block_rank b = block_of(p, r);
  FILE *to = p->file[r->rank];
  char group[512], key[24] = "", redop[24] = "null";
  members(p, r, group, sizeof group);
  /* groups of several kinds, or of two tied keys, may have the same members */
  if (op->key >= 0) snprintf(key, sizeof key, " %d", op->key);
  if (op->redop != ZP_RED_NONE) snprintf(redop, sizeof redop, "\"%s\"", zp_redop_name(op->redop));
  fprintf(to, "{\"op\":\"%s\",\"redop\":%s,\"dtype\":\"%s\",\"count\":%lld,\"group\":[%s],",
          zp_op_name(op->kind), redop, zp_dtype_name(op->dtype), (long long)op->count, group);
  fprintf(to, "\"name\":\"%s%s\",\"root\":%d,\"phase\":\"%s\"}\n", zp_group_name(op->group), key,
          op->root < 0 ? -1 : zp_block_group_member(&b, op->group, op->key, op->root),
          zp_what_name(op->what));
}

void zp_publish(const zp_publisher *p, const zp_issued *r)
{
  const zp_op *op = r->op;
  const zp_block_rank b = block_of(p, r);
  if (p->file == NULL || op->kind < ZP_OP_FIRST_COMM || op->kind == ZP_OP_CREATE) return;
  if (op->kind == ZP_OP_META || op->kind == ZP_OP_P2P) publish_exchange(p, r);
  else if (zp_block_group_size(&b, op->group, op->key) > 1) publish_collective(p, r);
  fflush(p->file[r->rank]);
}

void zp_publish_step(const zp_publisher *p, int32_t rank, int32_t step)
{
  if (p->file != NULL) fprintf(p->file[rank], "{\"step\":%d}\n", step);
}

int zp_publisher_open(zp_publisher *p, const zp_config *cfg, int32_t replicas, const char *folder)
{
  p->cfg = cfg;
  p->replicas = replicas == 0 ? 1 : replicas;
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

int zp_publisher_close(zp_publisher *p)
{
  int bad = 0;
  for (int32_t q = 0; p->file != NULL && q < p->world; q++) {
    if (p->file[q] == NULL) continue;
    bad |= ferror(p->file[q]);
    bad |= fclose(p->file[q]);
  }
  free(p->file);
  p->file = NULL;
  return bad ? -1 : 0;
}
