/* Random programs over streams, events and one communicator, correct by construction, and an
 * analysis of their order that shares nothing with simdev: which of their waits can be left out? */
#ifndef ZP_TESTS_SIMDEV_RANDOM_CASE_H
#define ZP_TESTS_SIMDEV_RANDOM_CASE_H
#include "comm_case.h"

enum { RANKS = 3, STREAMS = 3, BUFFERS = 4, LENGTH = 3, OPS = 24, PER_STREAM = 2 };

/* to = 3 · to + from + add, to = from, or a sum over the ranks in place. */
typedef enum { OP_KERNEL, OP_COPY, OP_SUM } op_kind;
typedef struct op {
  op_kind kind;
  int stream, to, from;
  int64_t add;
} op;

typedef struct program {
  op ops[OPS];
  int drop; /* the wait that is dropped, in the order of the calls, from 0; -1: none */
  int64_t want[RANKS][BUFFERS][LENGTH];
} program;

/* The waits before op i: indices of the ops whose records are waited for. */
static inline int waits_of(const program *p, int i, int before[OPS])
{
  int n = 0;
  for (int j = 0; j < i; j++) {
    const op *a = &p->ops[j], *b = &p->ops[i];
    const int conflict = a->to == b->to || a->to == b->from || a->from == b->to;
    if (conflict && a->stream != b->stream) before[n++] = j;
  }
  return n;
}

static inline uint64_t next_random(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

/* Wraps, as values that are read too early are arbitrary. */
static inline int64_t mixed(int64_t to, int64_t from, int64_t add)
{
  return (int64_t)(3 * (uint64_t)to + (uint64_t)from + (uint64_t)add);
}

static inline void make_program(program *p, uint64_t seed)
{
  uint64_t r = seed * 77 + 5;
  int64_t(*v)[BUFFERS][LENGTH] = p->want;
  p->drop = -1;
  for (int i = 0; i < OPS; i++) {
    const uint64_t kind = next_random(&r) % 8;
    op *o = &p->ops[i];
    o->kind = kind == 0 ? OP_SUM : kind == 1 ? OP_COPY : OP_KERNEL;
    o->stream = (int)(next_random(&r) % STREAMS);
    o->to = (int)(next_random(&r) % BUFFERS);
    o->from =
        o->kind == OP_SUM ? o->to : (o->to + 1 + (int)(next_random(&r) % (BUFFERS - 1))) % BUFFERS;
    o->add = (int64_t)(next_random(&r) % 100);
  }
  for (int k = 0; k < RANKS; k++)
    for (int b = 0; b < BUFFERS; b++)
      for (int e = 0; e < LENGTH; e++) v[k][b][e] = 100 * k + 10 * b + e;
  for (int i = 0; i < OPS; i++)
    for (int e = 0; e < LENGTH; e++) {
      const op *o = &p->ops[i];
      int64_t sum = 0;
      for (int k = 0; k < RANKS; k++) sum += v[k][o->to][e];
      for (int k = 0; k < RANKS; k++)
        v[k][o->to][e] = o->kind == OP_SUM    ? sum
                         : o->kind == OP_COPY ? v[k][o->from][e]
                                              : mixed(v[k][o->to][e], v[k][o->from][e], o->add);
    }
}

/* ---- The host ------------------------------------------------------------------------------- */

typedef struct step_params {
  int64_t *to;
  const int64_t *from;
  int64_t add;
} step_params;

static inline void step_body(const void *params, simdev_thread t, void *shared, int phase)
{
  const step_params *p = params;
  (void)shared, (void)phase;
  p->to[at(t)] = mixed(p->to[at(t)], p->from[at(t)], p->add);
}
static const simdev_kernel step_kernel = {"step", sizeof(step_params), 1, step_body};

static inline int issue_op(const op *o, int64_t *const *buffer, const member *m,
                           cudaStream_t stream)
{
  enum { BYTES = LENGTH * (int)sizeof(int64_t) };
  step_params p = {buffer[o->to], buffer[o->from], o->add};
  void *args[] = {&p};
  switch (o->kind) {
  case OP_KERNEL:
    return (int)cudaLaunchKernel(&step_kernel, (dim3){1, 1, 1}, (dim3){LENGTH, 1, 1}, args, 0,
                                 stream);
  case OP_COPY: return (int)cudaMemcpyAsync(p.to, p.from, BYTES, cudaMemcpyDeviceToDevice, stream);
  default:
    return settle(ncclAllReduce(p.to, p.to, LENGTH, ncclInt64, ncclSum, m->comm, stream), m->comm);
  }
}

/* Each stream has a few events, which are recorded repeatedly. */
static inline int event_of_op(const program *p, int i)
{
  return p->ops[i].stream * PER_STREAM + i % PER_STREAM;
}

static inline int run_program(void *arg, int rank)
{
  const program *p = arg;
  int before[OPS], waits = 0;
  member m;
  cudaStream_t stream[STREAMS];
  cudaEvent_t event[STREAMS * PER_STREAM];
  int64_t *buffer[BUFFERS], value[LENGTH];
  OK(open_member(&m, rank, RANKS, (int)p->ops[0].add % 2));
  for (int s = 0; s < STREAMS; s++) OK(make_stream(&stream[s]));
  for (int e = 0; e < STREAMS * PER_STREAM; e++) OK(make_event(&event[e]));
  for (int b = 0; b < BUFFERS; b++) {
    for (int e = 0; e < LENGTH; e++) value[e] = 100 * rank + 10 * b + e;
    OK(to_device((void **)&buffer[b], value, sizeof value, stream[0]));
  }
  for (int i = 0; i < OPS; i++) {
    const int n = waits_of(p, i, before);
    for (int w = 0; w < n; w++)
      if (waits++ != p->drop)
        OK(cudaStreamWaitEvent(stream[p->ops[i].stream], event[event_of_op(p, before[w])], 0));
    OK(issue_op(&p->ops[i], buffer, &m, stream[p->ops[i].stream]));
    OK(cudaEventRecord(event[event_of_op(p, i)], stream[p->ops[i].stream]));
  }
  OK(cudaDeviceSynchronize());
  for (int b = 0; b < BUFFERS; b++) {
    OK(to_host(value, buffer[b], sizeof value, stream[0]));
    IS(memcmp(value, p->want[rank][b], sizeof value) == 0);
    OK(cudaFree(buffer[b]));
  }
  for (int s = 0; s < STREAMS; s++) OK(cudaStreamDestroy(stream[s]));
  for (int e = 0; e < STREAMS * PER_STREAM; e++) OK(cudaEventDestroy(event[e]));
  return close_member(&m);
}

/* ---- The analysis --------------------------------------------------------------------------- */

/* Vector clocks of one rank: all ranks have the same program, so no order comes from the others. */
typedef struct clocks {
  int now[STREAMS][STREAMS];                   /* what each stream is ordered after on each other
                                                * stream */
  int recorded[STREAMS * PER_STREAM][STREAMS]; /* at an event's current record */
  int touched[2][BUFFERS][STREAMS];            /* last read, last write of a buffer by a stream */
} clocks;

static inline void see(int to[STREAMS], const int from[STREAMS])
{
  for (int s = 0; s < STREAMS; s++)
    if (from[s] > to[s]) to[s] = from[s];
}

/* 1: an op of this stream accesses the buffer, and an earlier access is not ordered before it. */
static inline int conflicts(const clocks *c, int stream, int buffer, int writes)
{
  for (int s = 0; s < STREAMS; s++) {
    if (c->touched[1][buffer][s] > c->now[stream][s]) return 1;
    if (writes && c->touched[0][buffer][s] > c->now[stream][s]) return 1;
  }
  return 0;
}

static inline int count_waits(const program *p)
{
  int before[OPS], n = 0;
  for (int i = 0; i < OPS; i++) n += waits_of(p, i, before);
  return n;
}

/* 1: without the dropped wait there is a race. */
static inline int has_race(const program *p)
{
  clocks c = {0};
  int before[OPS], waits = 0;
  for (int i = 0; i < OPS; i++) {
    const op *o = &p->ops[i];
    const int n = waits_of(p, i, before);
    for (int w = 0; w < n; w++)
      if (waits++ != p->drop) see(c.now[o->stream], c.recorded[event_of_op(p, before[w])]);
    c.now[o->stream][o->stream]++;
    if (conflicts(&c, o->stream, o->to, 1) || conflicts(&c, o->stream, o->from, 0)) return 1;
    c.touched[1][o->to][o->stream] = c.touched[0][o->from][o->stream] = c.now[o->stream][o->stream];
    memcpy(c.recorded[event_of_op(p, i)], c.now[o->stream], sizeof c.now[0]);
  }
  return 0;
}

#endif
