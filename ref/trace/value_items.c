/* Reads the extensions that hold fingerprints of values (conformance/TRACE.md, "Values"). */
#include <string.h>

#include "trace.h"

typedef struct body {
  const uint8_t *at, *end;
  int bad;
} body;

/* A LEB128 number. The body is bad if it ends before. */
static int64_t number(body *b)
{
  uint64_t v = 0;
  for (int shift = 0; shift < 63 && b->at < b->end; shift += 7) {
    const uint8_t x = *b->at++;
    v |= (uint64_t)(x & 127) << shift;
    if (x < 128) return (int64_t)v;
  }
  b->bad = 1;
  return 0;
}

static uint64_t lane(body *b)
{
  uint64_t v = 0;
  if (b->end - b->at < 8) b->bad = 1;
  else
    for (int i = 0; i < 8; i++) v |= (uint64_t)*b->at++ << 8 * i;
  return v;
}

static void read_lanes(body *b, zp_trace_value *v)
{
  v->print.bytes = number(b);
  v->print.lane[0] = lane(b);
  v->print.lane[1] = lane(b);
}

/* side n op root+1 group i, and for a side with a value bytes and lanes */
static void read_operation(body *b, zp_trace_value *v)
{
  const int64_t side = number(b);
  v->back = number(b);
  const int64_t op = number(b), root = number(b);
  v->group = number(b);
  v->i = number(b);
  if (op < 1 || op >= ZP_TRACE_OPS || root > INT32_MAX) b->bad = 1;
  if (side >= ZP_TRACE_SIDES) {
    v->kind = 0; /* of a later version */
    return;
  }
  v->side = (int)side;
  v->op = (int32_t)op;
  v->root = (int32_t)(root - 1);
  if (side == ZP_TRACE_INPUT || side == ZP_TRACE_RESULT) read_lanes(b, v);
}

/* id step+1 group bytes lanes */
static void read_tensor(body *b, zp_trace_value *v)
{
  v->i = number(b);
  v->step = number(b) - 1;
  v->group = number(b);
  if (v->i > INT32_MAX) b->bad = 1;
  read_lanes(b, v);
}

int64_t zp_trace_read_value(zp_trace_reader *r, int64_t kind, const uint8_t *raw, int64_t n)
{
  body b = {raw, raw + (n < ZP_TRACE_BODY ? n : ZP_TRACE_BODY), 0};
  zp_trace_value v = {.kind = (int)kind, .step = -1, .root = -1};
  if (kind == ZP_TRACE_VALUE_OF_OP) read_operation(&b, &v);
  else read_tensor(&b, &v);
  if (b.bad) return -2;
  if (v.kind == ZP_TRACE_VALUE_OF_OP && (v.back < 1 || v.back > r->records)) return -2;
  r->value = v;
  return 0;
}
