/* Writes traces of NCCL operations: one file per rank in the folder ZEROPROOF_TRACE. The rank is
 * ZEROPROOF_TRACE_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID. */
#define _GNU_SOURCE
#include "nccl_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 1, CALL = 6, CALL_END = 7, END = 9, OP = 10 };
enum { ASYNC = 1, FILES = 1024, ITEM = 512, CALLS = 16 };

typedef struct item {
  uint8_t b[ITEM];
  size_t n;
} item;

pthread_mutex_t zpt_lock = PTHREAD_MUTEX_INITIALIZER;
static zpt_trace traces[FILES];
static int n_traces;
/* NCCL groups belong to a thread. Its ranks are known only when it enters the first operation. */
static __thread int depth;
static __thread zpt_trace *in_call[CALLS];
static __thread int n_in_call;

static void put(item *i, uint64_t v)
{
  for (; v > 127; v >>= 7) i->b[i->n++] = (uint8_t)((v & 127) | 128);
  i->b[i->n++] = (uint8_t)v;
}

/* A failed write must not stop the program. The trace ends there, without an end mark: records
 * after a torn or missing one would be misread. */
static void out(zpt_trace *t, const item *i)
{
  for (size_t at = 0; at < i->n && !t->stopped;) {
    const ssize_t n = write(t->fd, i->b + at, i->n - at);
    if (n > 0) at += (size_t)n;
    else if (n == 0 || errno != EINTR) {
      t->stopped = 1;
      fprintf(
          stderr,
          "zeroproof: cannot write the trace of rank %d: %m. The trace ends here, as if the rank "
          "had stopped; the program continues.\n",
          t->rank);
    }
  }
}

static int env_number(const char *const *name, int other)
{
  for (; *name; name++)
    if (getenv(*name) != NULL) return atoi(getenv(*name));
  return other;
}

int zpt_rank(int other)
{
  static const char *const names[] = {
      "ZEROPROOF_TRACE_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  return env_number(names, other);
}

int zpt_world(int other)
{
  static const char *const names[] = {"ZEROPROOF_TRACE_WORLD", "WORLD_SIZE",
                                      "OMPI_COMM_WORLD_SIZE",  "PMI_SIZE",
                                      "SLURM_NTASKS",          NULL};
  return env_number(names, other);
}

zpt_trace *zpt_open(int rank, int world)
{
  for (int i = 0; i < n_traces; i++)
    if (traces[i].rank == rank) return &traces[i];
  const char *dir = getenv("ZEROPROOF_TRACE");
  if (dir == NULL || n_traces == FILES) return NULL;
  char path[4096];
  snprintf(path, sizeof path, "%s/rank-%d.zpt", dir, rank);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) {
    fprintf(stderr, "zeroproof: cannot open %s: %m. Rank %d is not recorded.\n", path, rank);
    return NULL;
  }
  zpt_trace *t = &traces[n_traces++];
  *t = (zpt_trace){.fd = fd, .rank = rank};
  item i = {.n = 0};
  for (const char *c = "ZPTRACE\1"; *c; c++) i.b[i.n++] = (uint8_t)*c;
  put(&i, (uint64_t)rank);
  put(&i, (uint64_t)(world > rank ? world : 0));
  out(t, &i);
  return t;
}

int zpt_group(zpt_trace *t, const char *key, int size, int comm_rank)
{
  const size_t n = strnlen(key, ZPT_KEY - 1);
  item i = {.n = 0};
  put(&i, GROUP);
  put(&i, (uint64_t)++t->groups);
  put(&i, n);
  memcpy(i.b + i.n, key, n);
  i.n += n;
  put(&i, (uint64_t)size);
  put(&i, size > 0 ? (uint64_t)comm_rank + 1 : 0);
  put(&i, 0);
  out(t, &i);
  return t->groups;
}

static void mark_call(zpt_trace *t)
{
  for (int i = 0; i < n_in_call; i++)
    if (in_call[i] == t) return;
  if (depth == 0 || n_in_call == CALLS) return;
  in_call[n_in_call++] = t;
  out(t, &(item){{CALL}, 1});
}

void zpt_enter(zpt_trace *t, int group, int op, int redop, int64_t count, int dtype, int root)
{
  /* NCCL and the format number dtypes alike: i8, u8, i32, u32, i64, u64, fp16, … */
  const int known = dtype >= 0 && dtype < 12;
  const uint64_t v[] = {OP,
                        (uint64_t)op,
                        (uint64_t)redop,
                        known ? (uint64_t)dtype + 1 : ZPT_UNKNOWN,
                        (uint64_t)(count + 1),
                        (uint64_t)group,
                        (uint64_t)(root + 1),
                        ASYNC,
                        0};
  item i = {.n = 0};
  for (size_t n = 0; n < sizeof v / sizeof *v; n++) put(&i, v[n]);
  mark_call(t);
  out(t, &i);
}

void zpt_call_begin(void)
{
  depth++;
}

void zpt_call_end(void)
{
  if (depth == 0 || --depth > 0) return;
  for (int i = 0; i < n_in_call; i++) out(in_call[i], &(item){{CALL_END}, 1});
  n_in_call = 0;
}

int zpt_in_call(void)
{
  return depth > 0;
}

/* Priority 200: after the destructors that still write records. */
__attribute__((destructor(200))) static void write_end_marks(void)
{
  for (int i = 0; i < n_traces; i++) out(&traces[i], &(item){{END}, 1});
}
