/* Communication as the interpreter issues it, and what every backend implements.
 *
 * A rank runs until its next communication op and hands out a request; the backend completes it.
 * Buffers belong to the rank and stay valid until then. Meaning of the ops (D members, index r):
 *
 *   CREATE          all world ranks; makes the communicators of kind op->root (key op->key), with
 *                   the members that zp_block_group_member names
 *   BROADCAST       buf = send = recv: count elements of dtype from member root
 *   REDUCE_SCATTER  send: D parts of count elements of dtype; recv: part r of the reduction, of
 *                   zp_result_dtype; redop ORDERED, EXACT (result: ZP_LIMBS int64 an element)
 *                   or SUM
 *   ALL_REDUCE      send: count elements of dtype; recv: count of the result; redop as above; with
 *                   SUM, send may be recv, for all members
 *   ALL_GATHER      send: count elements of dtype; recv: D·count
 *   GATHER          the same, recv on member root only
 *   P2P             out_msg to, and in_msg from, the member root of ZP_GROUP_PP, either may be
 *                   absent (n = 0); grouped: neither half waits for the other. in_msg describes
 *                   what is expected (dtype, shape) and owns the buffers
 *   META            the same with out_meta/in_meta: int64[ZP_META_LONGS]
 *
 * A participant that issues anything else (op, what, group, count, dtype, redop, root; P2P: dtype
 * and shape) is a mismatch: reported, never waited for. spec: LEDG-1, LEDG-2, RED-4, RED-5 */
#ifndef ZP_COMM_COMM_H
#define ZP_COMM_COMM_H

#include <stdint.h>

#include "../base/error.h"
#include "../base/message.h"
#include "../plan/program.h"

/* A meta message: number of tensors, then for each dtype, ndim, dim[0..3]. spec: PIPE-6 */
enum { ZP_META_LONGS = 1 + ZP_MSG_TENSORS * (2 + ZP_MSG_DIMS) };

typedef struct zp_request {
  const zp_op *op;
  int32_t phase; /* zp_phase of the program that op belongs to */
  int64_t pc;    /* its position in the program */
  int64_t step;  /* optimizer step, for messages to people */
  const void *send;
  void *recv;
  const zp_message *out_msg;
  zp_message *in_msg;
  const int64_t *out_meta;
  int64_t *in_meta;
} zp_request;

/* The dtype of a reduction's result: fp32 for ORDERED, int64 for EXACT and SUM. */
int32_t zp_result_dtype(int32_t redop);

/* int64/float elements of the result per element sent: ZP_LIMBS for EXACT, else 1. */
int64_t zp_result_width(int32_t redop);

/* Reduces members' buffers in[0..members-1] (n elements of dtype each, member order) into out, as
 * redop says: the one definition of the arithmetic, used by every backend. out may be no in[r], but
 * for SUM in[0].
 * spec: RED-4, RED-5 */
void zp_reduce_members(int32_t redop, int32_t dtype, int32_t members, const void *const *in,
                       int64_t n, void *out);

/* Describes a message as a meta message and back; zp_meta_decode returns -1 for nonsense. */
void zp_meta_encode(const zp_message *msg, int64_t meta[ZP_META_LONGS]);
int zp_meta_decode(const int64_t meta[ZP_META_LONGS], zp_message *msg);

/* 1 when the two messages agree in the number, dtypes and shapes of their tensors. */
int zp_message_same(const zp_message *a, const zp_message *b);

/* Elements of a tensor whose shape comes from elsewhere (a file, a caller): -1 unless it has 1 to
 * ZP_MSG_DIMS dimensions, each at least 1, and at most `most` elements. spec: PIPE-6 */
int64_t zp_tensor_checked(const zp_tensor *t, int64_t most);

/* Elements and bytes of a tensor that was checked. */
int64_t zp_tensor_numel(const zp_tensor *t);
int64_t zp_tensor_bytes(const zp_tensor *t);

/* Do two members of a group issue the same collective? The transports' part of the rule that the
 * plan is checked for (plan_check_ledger.c) and recorded runs are judged by (ref/trace/match.c),
 * which decide for themselves. spec: LEDG-2 */
int zp_collective_same(const zp_op *a, const zp_op *b);

/* Carries out a request in a group of one: nothing travels. */
void zp_request_alone(const zp_request *q);

/* Names for people and machines; "?" for what is not one. */
const char *zp_op_name(int32_t kind);
const char *zp_what_name(int32_t what);
const char *zp_group_name(int32_t group);
const char *zp_dtype_name(int32_t dtype);
const char *zp_redop_name(int32_t redop);
const char *zp_phase_name(int32_t phase);

/* "all_reduce(statistics, int64 x 47, sum)" and the like, for people. */
void zp_op_describe(const zp_op *op, char *text, int64_t cap);

#endif
