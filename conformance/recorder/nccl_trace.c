/* Writes traces of NCCL operations: one file per rank in the folder ZEROPROOF_TRACE. The rank is
 * ZEROPROOF_TRACE_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK or SLURM_PROCID. A later attempt
 * writes to the folder attempt-N in it. */
#define _GNU_SOURCE
#include "nccl_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { GROUP = 1, CALL = 6, CALL_END = 7, END = 9, OP = 10 };
enum { ASYNC = 1, FILES = 1024, ITEM = 512, CALLS = 16 };
enum { ATTEMPTS = 999999 };
enum { WORLD = 1 << 17 }; /* ranks of a run that `zeroproof trace` reads */

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

/* A write beyond `ulimit -f` sends SIGXFSZ, which would end the program. */
static ssize_t write_some(int fd, const uint8_t *b, size_t n)
{
  sigset_t limit, old;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &old);
  const ssize_t written = write(fd, b, n);
  const int reason = errno;
  if (written < 0 && reason == EFBIG) (void)sigtimedwait(&limit, NULL, &(struct timespec){0, 0});
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = reason;
  return written;
}

static void stop(zpt_trace *t)
{
  t->stopped = 1;
  fprintf(stderr,
          "zeroproof: cannot write the trace of rank %d: %m. The trace ends here, as if the rank "
          "had stopped; the program continues.\n",
          t->rank);
}

/* A failed write must not stop the program. The trace ends there, without an end mark: records
 * after a torn or missing one would be misread. A forked process shares the file and is no rank. */
static void out(zpt_trace *t, const item *i)
{
  for (size_t at = 0; at < i->n && !t->stopped && t->pid == getpid();) {
    const ssize_t n = write_some(t->fd, i->b + at, i->n - at);
    if (n > 0) at += (size_t)n;
    else if (n == 0 || errno != EINTR) stop(t);
  }
}

/* ---- Environment ----------------------------------------------------------------------------- */

typedef struct variable {
  const char *name;
  int reported; /* 1: its value is invalid */
} variable;

/* A value without characters that control a terminal. */
static const char *printable(char text[64], const char *value)
{
  snprintf(text, 64, "%s", value);
  for (char *c = text; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?';
  return text;
}

/* The first variable with a number from 0 to max, or other. */
static int env_number(variable *v, int max, int other)
{
  for (; v->name; v++) {
    const char *value = getenv(v->name);
    char *end, text[64];
    if (value == NULL) continue;
    errno = 0;
    const long n = strtol(value, &end, 10);
    if (*value >= '0' && *value <= '9' && *end == 0 && errno == 0 && n <= max) return (int)n;
    if (!v->reported)
      fprintf(stderr,
              "zeroproof: %s='%s' is not a whole number from 0 to %d. The recorder ignores it; the "
              "program continues.\n",
              v->name, printable(text, value), max);
    v->reported = 1;
  }
  return other;
}

int zpt_rank(int other)
{
  static variable of[] = {{"ZEROPROOF_TRACE_RANK", 0}, {"RANK", 0},
                          {"OMPI_COMM_WORLD_RANK", 0}, {"PMI_RANK", 0},
                          {"SLURM_PROCID", 0},         {NULL, 0}};
  return env_number(of, WORLD - 1, other);
}

int zpt_world(int other)
{
  static variable of[] = {{"ZEROPROOF_TRACE_WORLD", 0}, {"WORLD_SIZE", 0},
                          {"OMPI_COMM_WORLD_SIZE", 0},  {"PMI_SIZE", 0},
                          {"SLURM_NTASKS", 0},          {NULL, 0}};
  return env_number(of, WORLD, other);
}

/* The number of this attempt according to the environment, or -1; *exact: it holds in any case. */
static int env_attempt(int *exact)
{
  static variable own[] = {{"ZEROPROOF_TRACE_ATTEMPT", 0}, {NULL, 0}},
                  of[] = {{"TORCHELASTIC_RESTART_COUNT", 0}, {"SLURM_RESTART_COUNT", 0}, {NULL, 0}};
  const int n = env_number(own, ATTEMPTS, -1);
  *exact = n >= 0;
  return *exact ? n : env_number(of, ATTEMPTS, 0);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The name of a rank's trace in an attempt; attempt 0 is DIR itself. 0 if it is too long. */
static int name_file(char path[PATH_MAX], const char *dir, int attempt, int rank)
{
  const int n = attempt > 0
                    ? snprintf(path, PATH_MAX, "%s/attempt-%d/rank-%d.zpt", dir, attempt, rank)
                    : snprintf(path, PATH_MAX, "%s/rank-%d.zpt", dir, rank);
  return n < PATH_MAX;
}

/* The attempt of this process: that of the environment, or the first one after it in which its
 * first rank has no trace. All ranks of a process belong to one attempt. */
static int attempt_of(const char *dir, int rank)
{
  static int chosen = -1;
  char path[PATH_MAX];
  struct stat s;
  int exact;
  if (chosen >= 0) return chosen;
  chosen = env_attempt(&exact);
  while (!exact && chosen < ATTEMPTS && name_file(path, dir, chosen, rank) &&
         lstat(path, &s) == 0 && S_ISREG(s.st_mode))
    chosen++;
  if (chosen > 0 && snprintf(path, sizeof path, "%s/attempt-%d", dir, chosen) < PATH_MAX)
    (void)mkdir(path, 0777); /* another rank may have made it; open reports other errors */
  return chosen;
}

/* Opens the file of a rank; -1 after a message. Descriptors below 3 belong to the standard
 * streams of the program, also if these are closed. */
static int open_file(int rank)
{
  const char *dir = getenv("ZEROPROOF_TRACE"), *why = NULL;
  char path[PATH_MAX];
  int fd = -1;
  if (dir == NULL || *dir == 0) {
    fprintf(stderr, "zeroproof: ZEROPROOF_TRACE does not name a folder. Rank %d is not recorded.\n",
            rank);
    return -1;
  }
  if (!name_file(path, dir, attempt_of(dir, rank), rank)) why = strerror(ENAMETOOLONG);
  else if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) < 0)
    why = strerror(errno);
  else if (fd < 3) {
    const int low = fd;
    fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) why = strerror(errno);
    close(low);
  }
  if (why == NULL) return fd;
  fprintf(stderr, "zeroproof: cannot open %s: %s. Rank %d is not recorded.\n", path, why, rank);
  if (fd >= 0) close(fd);
  return -1;
}

zpt_trace *zpt_open(int64_t rank, int64_t world)
{
  static int reported;
  for (int i = 0; i < n_traces; i++)
    if (traces[i].rank == rank) return &traces[i];
  if (rank < 0 || rank >= WORLD || n_traces == FILES) {
    if (!reported)
      fprintf(stderr,
              "zeroproof: rank %lld is not recorded: ranks are 0 to %d, at most %d in a process.\n",
              (long long)rank, WORLD - 1, FILES);
    reported = 1;
    return NULL;
  }
  zpt_trace *t = &traces[n_traces++];
  *t = (zpt_trace){.fd = open_file((int)rank), .rank = (int)rank, .pid = getpid()};
  t->stopped = t->fd < 0; /* kept, so that one message reports it */
  item i = {.n = 0};
  for (const char *c = "ZPTRACE\1"; *c; c++) i.b[i.n++] = (uint8_t)*c;
  put(&i, (uint64_t)rank);
  put(&i, world > rank && world <= WORLD ? (uint64_t)world : 0);
  out(t, &i);
  return t;
}

int zpt_is_fork(void)
{
  return n_traces > 0 && traces[n_traces - 1].pid != getpid();
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
  if (zpt_is_fork()) return;
  pthread_mutex_lock(&zpt_lock);
  for (int i = 0; i < n_traces; i++) {
    zpt_trace *t = &traces[i];
    out(t, &(item){{END}, 1});
    if (!t->stopped && close(t->fd)) stop(t); /* some file systems report a full disk here */
    t->stopped = 1;
  }
  pthread_mutex_unlock(&zpt_lock);
}
