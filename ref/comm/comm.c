/* spec: LEDG-1, RED-4, RED-5, PIPE-6 */
#include "comm.h"

#include <stdio.h>
#include <string.h>

#include "../num/half.h"
#include "../num/value.h"
#include "block.h"

_Static_assert((int)ZP_LIMBS == (int)ZP_VAL_LIMBS, "one format of exact sums");

int32_t zp_result_dtype(int32_t redop)
{
  return redop == ZP_RED_ORDERED ? ZP_F32 : ZP_I64;
}

int64_t zp_result_width(int32_t redop)
{
  return redop == ZP_RED_EXACT ? ZP_LIMBS : 1;
}

/* Element i of a float buffer as fp32; every conversion is exact. NUM-1 */
static float float_at(int32_t dtype, const void *x, int64_t i)
{
  uint32_t bits;
  float value;
  if (dtype == ZP_F32) return ((const float *)x)[i];
  if (dtype == ZP_BF16) bits = zp_f32_from_bf16(((const uint16_t *)x)[i]);
  else bits = zp_f32_from_f16(((const uint16_t *)x)[i]);
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void reduce_ordered(int32_t dtype, int32_t members, const void *const *in, int64_t n,
                           float *out)
{
  for (int64_t i = 0; i < n; i++) out[i] = float_at(dtype, in[0], i);
  for (int32_t r = 1; r < members; r++)
    for (int64_t i = 0; i < n; i++) out[i] = out[i] + float_at(dtype, in[r], i);
}

static void reduce_exact(int32_t dtype, int32_t members, const void *const *in, int64_t n,
                         int64_t *out)
{
  memset(out, 0, (size_t)n * ZP_LIMBS * sizeof *out);
  for (int32_t r = 0; r < members; r++) {
    if (dtype == ZP_F32) zp_val_add_f32(out, in[r], n);
    else if (dtype == ZP_BF16) zp_val_add_bf16(out, in[r], n);
    else zp_val_add_f16(out, in[r], n);
  }
}

static void reduce_sum(int32_t members, const void *const *in, int64_t n, int64_t *out)
{
  const int64_t *first = in[0];
  for (int64_t i = 0; i < n; i++) out[i] = first[i];
  for (int32_t r = 1; r < members; r++) {
    const int64_t *x = in[r];
    for (int64_t i = 0; i < n; i++) out[i] += x[i];
  }
}

void zp_reduce_members(int32_t redop, int32_t dtype, int32_t members, const void *const *in,
                       int64_t n, void *out)
{
  if (redop == ZP_RED_ORDERED) reduce_ordered(dtype, members, in, n, out);
  else if (redop == ZP_RED_EXACT) reduce_exact(dtype, members, in, n, out);
  else reduce_sum(members, in, n, out);
}

int64_t zp_tensor_checked(const zp_tensor *t, int64_t most)
{
  int64_t n = 1;
  if (t->ndim < 1 || t->ndim > ZP_MSG_DIMS) return -1;
  for (int32_t i = 0; i < t->ndim; i++) {
    if (t->dim[i] < 1 || t->dim[i] > most / n) return -1; /* n >= 1, so n * dim <= most */
    n *= t->dim[i];
  }
  return n;
}

int64_t zp_tensor_numel(const zp_tensor *t)
{
  int64_t n = 1;
  for (int32_t i = 0; i < t->ndim; i++) n *= t->dim[i];
  return n;
}

int64_t zp_tensor_bytes(const zp_tensor *t)
{
  return zp_tensor_numel(t) * zp_dtype_bytes(t->dtype);
}

int zp_message_same(const zp_message *a, const zp_message *b)
{
  if (a->n != b->n) return 0;
  for (int32_t i = 0; i < a->n; i++) {
    const zp_tensor *x = &a->t[i], *y = &b->t[i];
    if (x->dtype != y->dtype || x->ndim != y->ndim) return 0;
    for (int32_t d = 0; d < x->ndim; d++)
      if (x->dim[d] != y->dim[d]) return 0;
  }
  return 1;
}

void zp_meta_encode(const zp_message *msg, int64_t meta[ZP_META_LONGS])
{
  memset(meta, 0, ZP_META_LONGS * sizeof *meta);
  meta[0] = msg->n;
  for (int32_t i = 0; i < msg->n; i++) {
    int64_t *m = meta + 1 + i * (2 + ZP_MSG_DIMS);
    m[0] = msg->t[i].dtype;
    m[1] = msg->t[i].ndim;
    for (int32_t d = 0; d < msg->t[i].ndim; d++) m[2 + d] = msg->t[i].dim[d];
  }
}

int zp_meta_decode(const int64_t meta[ZP_META_LONGS], zp_message *msg)
{
  zp_message out = {0};
  if (meta[0] < 0 || meta[0] > ZP_MSG_TENSORS) return -1;
  out.n = (int32_t)meta[0];
  for (int32_t i = 0; i < out.n; i++) {
    const int64_t *m = meta + 1 + i * (2 + ZP_MSG_DIMS);
    int64_t numel = 1;
    if (m[0] < 0 || m[0] >= ZP_DTYPES || m[1] < 1 || m[1] > ZP_MSG_DIMS) return -1;
    out.t[i].dtype = (int32_t)m[0];
    out.t[i].ndim = (int32_t)m[1];
    for (int32_t d = 0; d < out.t[i].ndim; d++) {
      if (m[2 + d] < 0 || m[2 + d] > ZP_MAX_ELEMENTS) return -1;
      if (m[2 + d] > 0 && numel > ZP_MAX_ELEMENTS / m[2 + d]) return -1;
      out.t[i].dim[d] = m[2 + d];
      numel *= m[2 + d];
    }
  }
  *msg = out;
  return 0;
}

static const char *const op_names[ZP_OPS] = {[ZP_OP_LOAD] = "load",
                                             [ZP_OP_FORWARD] = "forward",
                                             [ZP_OP_BACKWARD] = "backward",
                                             [ZP_OP_ARRIVED] = "arrived",
                                             [ZP_OP_ADD] = "add",
                                             [ZP_OP_MEAN] = "mean",
                                             [ZP_OP_DECIDE] = "decide",
                                             [ZP_OP_UPDATE] = "update",
                                             [ZP_OP_WRITE] = "write",
                                             [ZP_OP_SEAL] = "seal",
                                             [ZP_OP_READ] = "read",
                                             [ZP_OP_COMMIT] = "commit",
                                             [ZP_OP_INSTALL] = "install",
                                             [ZP_OP_META] = "meta",
                                             [ZP_OP_P2P] = "p2p",
                                             [ZP_OP_REDUCE_SCATTER] = "reduce_scatter",
                                             [ZP_OP_ALL_REDUCE] = "all_reduce",
                                             [ZP_OP_ALL_GATHER] = "all_gather",
                                             [ZP_OP_BROADCAST] = "broadcast",
                                             [ZP_OP_GATHER] = "gather",
                                             [ZP_OP_CREATE] = "create"};
static const char *const what_names[ZP_ALL_WHATS] = {"",
                                                     "gradient",
                                                     "tied gradient",
                                                     "statistics",
                                                     "status",
                                                     "parameter",
                                                     "master",
                                                     "moment 1",
                                                     "moment 2",
                                                     "communicator",
                                                     "activation",
                                                     "activation gradient",
                                                     "partial gradient",
                                                     "sum between replicas"};
static const char *const group_names[ZP_ALL_GROUPS] = {"world", "dp", "tp",   "pp",
                                                       "edp",   "ep", "tied", "replica"};
static const char *const dtype_names[ZP_DTYPES] = {"fp32", "bf16", "fp16", "int64", "int32"};
static const char *const redop_names[4] = {"", "ordered", "exact", "sum"};
static const char *const phase_names[ZP_PHASES] = {"init", "step", "save", "load"};

static const char *name_in(const char *const *names, int32_t n, int32_t i)
{
  return i >= 0 && i < n ? names[i] : "?";
}

const char *zp_op_name(int32_t kind)
{
  return name_in(op_names, ZP_OPS, kind);
}
const char *zp_what_name(int32_t what)
{
  return name_in(what_names, ZP_ALL_WHATS, what);
}
const char *zp_group_name(int32_t group)
{
  return name_in(group_names, ZP_ALL_GROUPS, group);
}
const char *zp_dtype_name(int32_t dtype)
{
  return name_in(dtype_names, ZP_DTYPES, dtype);
}
const char *zp_redop_name(int32_t redop)
{
  return name_in(redop_names, 4, redop);
}
const char *zp_phase_name(int32_t phase)
{
  return name_in(phase_names, ZP_PHASES, phase);
}

/* "p2p(send mb 2, receive mb 0, activation side, neighbour stage 1)". */
static void describe_p2p(const zp_op *op, char *text, int64_t cap)
{
  char send[48] = "", recv[48] = "";
  if (op->mb >= 0) snprintf(send, sizeof send, "send mb %lld", (long long)op->mb);
  if (op->recv_mb >= 0) snprintf(recv, sizeof recv, "receive mb %lld", (long long)op->recv_mb);
  snprintf(text, (size_t)cap, "%s(%s%s%s, %s side, neighbour stage %d)", zp_op_name(op->kind), send,
           op->mb >= 0 && op->recv_mb >= 0 ? ", " : "", recv, zp_what_name(op->what), op->root);
}

void zp_op_describe(const zp_op *op, char *text, int64_t cap)
{
  char where[64] = "", redop[24] = "";
  if (op->kind == ZP_OP_P2P || op->kind == ZP_OP_META) {
    describe_p2p(op, text, cap);
    return;
  }
  if (op->kind == ZP_OP_CREATE) {
    char key[16] = "";
    if (op->key >= 0) snprintf(key, sizeof key, "%d", op->key);
    snprintf(text, (size_t)cap, "create(communicators of %s%s%s)", zp_group_name(op->root),
             op->key >= 0 ? " key " : "", key);
    return;
  }
  if (op->bucket >= 0)
    snprintf(where, sizeof where, " flat %d bucket %lld", op->flat, (long long)op->bucket);
  else if (op->param >= 0) snprintf(where, sizeof where, " entry %d", op->param);
  if (op->kind < ZP_OP_FIRST_COMM) {
    snprintf(text, (size_t)cap, "%s(mb %lld%s)", zp_op_name(op->kind), (long long)op->mb, where);
    return;
  }
  if (op->redop != ZP_RED_NONE) snprintf(redop, sizeof redop, ", %s", zp_redop_name(op->redop));
  snprintf(text, (size_t)cap, "%s(%s%s, %s x %lld%s)", zp_op_name(op->kind), zp_what_name(op->what),
           where, zp_dtype_name(op->dtype), (long long)op->count, redop);
}

int zp_collective_same(const zp_op *a, const zp_op *b)
{
  return a->kind == b->kind && a->what == b->what && a->count == b->count && a->dtype == b->dtype &&
         a->redop == b->redop && a->root == b->root && a->key == b->key;
}

void zp_request_alone(const zp_request *q)
{
  const zp_op *op = q->op;
  const size_t bytes = (size_t)(op->count * zp_dtype_bytes(op->dtype));
  const void *in[1] = {q->send};
  if (op->kind == ZP_OP_REDUCE_SCATTER || op->kind == ZP_OP_ALL_REDUCE)
    zp_reduce_members(op->redop, op->dtype, 1, in, op->count, q->recv);
  else if (op->kind != ZP_OP_BROADCAST && bytes > 0) memmove(q->recv, q->send, bytes);
}
