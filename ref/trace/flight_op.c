/* What an entry of a Flight Recorder dump means: operation, peer, elements and data type. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "flight.h"

enum { ALL_REDUCE = 1, REDUCE_SCATTER, ALL_GATHER, REDUCE, BROADCAST, GATHER, SCATTER, ALL_TO_ALL };
enum { BARRIER = 9, NAME = 128 };

/* A name of PyTorch's, and where its count is taken from: of the first input, or of the first
 * output. '-': the members' counts may differ. */
static const struct {
  const char *name;
  uint8_t op;
  char count;
} names[] = {
    {"all_reduce", ALL_REDUCE, 'i'},
    {"allreduce_coalesced", ALL_REDUCE, 'i'},
    {"all_reduce_barrier", BARRIER, '0'},
    {"barrier", BARRIER, '0'},
    {"broadcast", BROADCAST, 'i'},
    {"_broadcast_oop", BROADCAST, 'i'},
    {"reduce", REDUCE, 'i'},
    {"_reduce_oop", REDUCE, 'i'},
    {"all_gather", ALL_GATHER, 'i'},
    {"all_gather_single", ALL_GATHER, 'i'},
    {"_all_gather_base", ALL_GATHER, 'i'},
    {"_allgather_base", ALL_GATHER, 'i'},
    {"all_gather_into_tensor_coalesced", ALL_GATHER, 'i'},
    {"ALLGATHER_coalesced", ALL_GATHER, '-'},
    {"all_gather_v", ALL_GATHER, '-'},
    {"reduce_scatter", REDUCE_SCATTER, 'o'},
    {"reduce_scatter_single", REDUCE_SCATTER, 'o'},
    {"_reduce_scatter_base", REDUCE_SCATTER, 'o'},
    {"reduce_scatter_tensor_coalesced", REDUCE_SCATTER, 'o'},
    {"REDUCE_SCATTER_coalesced", REDUCE_SCATTER, '-'},
    {"reduce_scatter_v", REDUCE_SCATTER, '-'},
    {"gather", GATHER, 'i'},
    {"scatter", SCATTER, 'o'},
    {"all_to_all", ALL_TO_ALL, '-'},
    {"all_to_all_single", ALL_TO_ALL, '-'},
    {"all_to_all_v_single", ALL_TO_ALL, '-'},
    {"send", ZP_TRACE_SEND, 'i'},
    {"recv", ZP_TRACE_RECV, 'o'},
};

/* PyTorch's names of scalar types, by number of the format. */
static const char *const scalars[ZP_TRACE_DTYPES] = {
    "?",           "Char", "Byte",  "Int",    "UInt32",       "Long",
    "UInt64",      "Half", "Float", "Double", "BFloat16",     "Float8_e4m3fn",
    "Float8_e5m2", "Bool", "Short", "UInt16", "ComplexFloat", "ComplexDouble"};

/* The elements of all tensors of a list of shapes. -1: unknown. */
static int64_t elements(zp_flight_file *f, const zp_flight_value *shapes)
{
  int64_t all = 0;
  if (shapes->kind != ZP_FLIGHT_LIST || shapes->n == 0) return -1;
  for (int32_t i = 0; i < shapes->n; i++) {
    const zp_flight_value *shape = zp_flight_item(f, shapes, i);
    int64_t n = 1;
    if (shape->kind != ZP_FLIGHT_LIST) return -1;
    for (int32_t k = 0; k < shape->n; k++) {
      const int64_t size = zp_flight_integer(zp_flight_item(f, shape, k), -1);
      if (size < 0 || (size > 0 && n > INT64_MAX / 4 / size)) return -1;
      n *= size;
    }
    if (n > INT64_MAX / 4 - all) return -1;
    all += n;
  }
  return all;
}

static uint8_t scalar(zp_flight_file *f, const zp_flight_value *types)
{
  char name[NAME];
  zp_flight_text(f, zp_flight_item(f, types, 0), name, sizeof name);
  for (int i = 1; i < ZP_TRACE_DTYPES; i++)
    if (strcmp(name, scalars[i]) == 0) return (uint8_t)i;
  return 0;
}

/* The peer in "send 0->1" or "recv 1<-0": the second number, a place in the group. */
static int32_t peer(const char *text)
{
  const char *arrow = strstr(text, "->");
  if (arrow == NULL) arrow = strstr(text, "<-");
  if (arrow == NULL || arrow[2] < '0' || arrow[2] > '9') return -1;
  const long n = strtol(arrow + 2, NULL, 10);
  return n < ZP_TRACE_WORLD ? (int32_t)n : -1;
}

void zp_flight_operation(zp_flight_file *f, const zp_flight_value *from, zp_flight_entry *e)
{
  char text[NAME];
  zp_flight_text(f, zp_flight_get(f, from, "profiling_name"), text, sizeof text);
  const char *colon = strchr(text, ':'), *name = colon != NULL ? colon + 1 : text;
  const size_t n = strcspn(name, " ");
  const zp_flight_value *in = zp_flight_get(f, from, "input_sizes"),
                        *out = zp_flight_get(f, from, "output_sizes");
  const uint8_t type_in = scalar(f, zp_flight_get(f, from, "input_dtypes")),
                type_out = scalar(f, zp_flight_get(f, from, "output_dtypes"));
  e->op = 0;
  e->count = e->root = -1;
  e->dtype = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strlen(names[i].name) != n || memcmp(names[i].name, name, n) != 0) continue;
    e->op = names[i].op;
    e->count = names[i].count == '0'   ? 0
               : names[i].count == 'i' ? elements(f, in)
               : names[i].count == 'o' ? elements(f, out)
                                       : -1;
    if (e->op != BARRIER) e->dtype = type_in ? type_in : type_out;
  }
  if (e->op >= ZP_TRACE_SEND) {
    e->root = peer(name);
    e->flags |= ZP_FLIGHT_P2P;
    if (e->count < 0) e->count = elements(f, e->op == ZP_TRACE_SEND ? out : in);
  }
}
