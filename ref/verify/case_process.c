#define _GNU_SOURCE
#include "case_process.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/child.h"
#include "../base/clock.h"

static void nap(void)
{
  const struct timespec t = {0, 200000}; /* 0.2 ms: a fifth of a case */
  nanosleep(&t, NULL);
}

static void *shared(size_t bytes)
{
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

/* Processor time of a child; 0 if it is gone. */
static double used_s(pid_t child)
{
  struct timespec t;
  clockid_t clock;
  if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Of a case: when it began, on the clock and in its process's time. */
typedef struct start {
  double at, used;
} start;

static start start_of(pid_t child)
{
  return (start){zp_clock_s(), used_s(child)};
}

/* Other work on the machine makes a case last longer, but not compute longer. A case that waits
 * without computing is given up later. */
static int is_over(pid_t child, start began, double seconds_max)
{
  return used_s(child) - began.used > seconds_max || zp_clock_s() - began.at > 20 * seconds_max;
}

/* ---- One case -------------------------------------------------------------------------------- */

int32_t zp_fuzz_one(const zp_backend *engine, const zp_case *c, const zp_fault *fault,
                    double seconds_max, zp_verdict *v)
{
  zp_verdict *out = shared(sizeof *out);
  start began;
  int32_t end;
  int status = 0;
  pid_t child, got = 0;
  if (out == NULL) return ZP_FUZZ_BROKEN;
  child = zp_child_fork(SIGKILL);
  if (child == 0) {
    engine->run_case(c, fault, out);
    _exit(0);
  }
  began = start_of(child);
  while (child > 0 && (got = waitpid(child, &status, WNOHANG)) == 0 &&
         !is_over(child, began, seconds_max))
    nap();
  if (child > 0 && got == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    end = ZP_FUZZ_HUNG;
  } else if (child < 0 || got < 0) {
    end = ZP_FUZZ_BROKEN;
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    end = ZP_FUZZ_CRASHED;
  } else {
    *v = *out;
    end = v->no_memory ? ZP_FUZZ_BROKEN : v->failed ? ZP_FUZZ_FAILED : ZP_FUZZ_CLEAN;
  }
  munmap(out, sizeof *out);
  return end;
}

/* ---- Many ------------------------------------------------------------------------------------ */

/* What a worker reports to its parent. */
typedef struct worker {
  zp_fuzz_sums sums;
  int64_t cpu_ns;
  _Atomic uint64_t index; /* the case it is at */
  _Atomic int32_t failed; /* the case `index` failed */
  _Atomic int32_t no_memory;
} worker;

typedef struct board {
  _Atomic int32_t stop;
  worker w[];
} board;

static void count(zp_fuzz_sums *s, const zp_case *c, uint32_t lacking, const zp_verdict *v)
{
  s->cases++;
  s->ranks += (int64_t)c->cfg.pp * c->cfg.dp * c->cfg.tp;
  s->elements += zp_case_elements(c);
  s->micro_batches += c->cfg.micro_batches;
  s->exact += c->cfg.reduce == ZP_EXACT;
  s->steps += v->steps;
  s->orders += v->orders;
  s->distinct += v->distinct;
  s->offloads += v->offloads;
  s->partials += v->partials;
  s->paths += v->paths;
  for (int32_t k = 0; k < ZP_BACKEND_UNSUPPORTED; k++) s->lacking[k] += lacking >> k & 1u;
  for (int32_t a = 0; a < zp_fuzz_axes(); a++) s->on_axis[a] += zp_fuzz_on_axis(a, c, v);
}

static void case_of(const zp_fuzz_job *job, uint64_t i, zp_case *c, uint32_t *lacking)
{
  job->engine->random_case(job->seed, i, c, lacking);
  c->schedules = job->schedules;
  c->offload = job->offload;
}

static int64_t cpu_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Worker k of n: cases k, k + n, k + 2n … Never returns. */
static void work(const zp_fuzz_job *job, board *b, int32_t k)
{
  static zp_verdict v;
  worker *me = &b->w[k];
  for (uint64_t i = (uint64_t)k; !b->stop; i += (uint64_t)job->jobs) {
    zp_case c;
    uint32_t lacking;
    if (job->cases > 0 && i >= (uint64_t)job->cases) break;
    me->index = i;
    case_of(job, i, &c, &lacking);
    job->engine->run_case(&c, job->fault, &v);
    if (v.no_memory) {
      me->no_memory = 1;
      break;
    }
    count(&me->sums, &c, lacking, &v);
    me->cpu_ns = cpu_ns();
    if (!v.failed) continue;
    me->failed = 1;
    break;
  }
  _exit(0);
}

typedef struct crew {
  const zp_fuzz_job *job;
  board *b;
  pid_t pid[ZP_FUZZ_JOBS]; /* 0: it has ended */
  uint64_t seen[ZP_FUZZ_JOBS];
  start since[ZP_FUZZ_JOBS];
  zp_fuzz_outcome *out;
} crew;

static void note(crew *c, int32_t end, uint64_t index)
{
  uint32_t lacking;
  if (c->out->end != ZP_FUZZ_CLEAN) return;
  c->out->end = end;
  c->out->index = index;
  if (end != ZP_FUZZ_BROKEN) case_of(c->job, index, &c->out->found, &lacking);
  c->b->stop = 1;
}

/* Looks after worker k; 1 while it runs. */
static int32_t look_after(crew *c, int32_t k)
{
  worker *w = &c->b->w[k];
  int status = 0;
  pid_t got;
  if (c->pid[k] == 0) return 0;
  got = waitpid(c->pid[k], &status, WNOHANG);
  if (got == 0) {
    if (w->index != c->seen[k] || c->since[k].at == 0) {
      c->seen[k] = w->index;
      c->since[k] = start_of(c->pid[k]);
    } else if (is_over(c->pid[k], c->since[k], c->job->engine->case_timeout_s)) {
      kill(c->pid[k], SIGKILL);
      waitpid(c->pid[k], &status, 0);
      c->pid[k] = 0;
      note(c, ZP_FUZZ_HUNG, w->index);
      return 0;
    }
    return 1;
  }
  c->pid[k] = 0;
  if (got < 0 || w->no_memory) note(c, ZP_FUZZ_BROKEN, w->index);
  else if (w->failed) note(c, ZP_FUZZ_FAILED, w->index);
  else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    c->out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    note(c, ZP_FUZZ_CRASHED, w->index);
  }
  return 0;
}

static int64_t done_so_far(const crew *c)
{
  int64_t n = 0;
  for (int32_t k = 0; k < c->job->jobs; k++) n += c->b->w[k].sums.cases;
  return n;
}

static void show(const crew *c, double elapsed, int last)
{
  const int64_t n = done_so_far(c);
  double part = c->job->seconds > 0 ? elapsed / c->job->seconds : 0;
  char bar[25];
  if (!c->job->progress) return;
  if (c->job->cases > 0 && (double)n / (double)c->job->cases > part)
    part = (double)n / (double)c->job->cases;
  if (part > 1 || last) part = 1;
  for (int32_t i = 0; i < 24; i++) bar[i] = i < (int32_t)(part * 24) ? '#' : '.';
  bar[24] = 0;
  if (last) dprintf(STDERR_FILENO, "\r%70s\r", "");
  else
    dprintf(STDERR_FILENO, "\r[%s] %5.0f s  %lld cases  %.0f a second", bar, elapsed, (long long)n,
            (double)n / (elapsed > 0 ? elapsed : 1));
}

static void add_sums(zp_fuzz_sums *to, const zp_fuzz_sums *from)
{
  to->cases += from->cases;
  to->ranks += from->ranks;
  to->elements += from->elements;
  to->micro_batches += from->micro_batches;
  to->exact += from->exact;
  to->steps += from->steps;
  to->orders += from->orders;
  to->distinct += from->distinct;
  to->offloads += from->offloads;
  to->partials += from->partials;
  to->paths += from->paths;
  for (int32_t k = 0; k < ZP_BACKEND_UNSUPPORTED; k++) to->lacking[k] += from->lacking[k];
  for (int32_t a = 0; a < ZP_FUZZ_AXES; a++) to->on_axis[a] += from->on_axis[a];
}

static void supervise(crew *c, double started)
{
  const zp_fuzz_job *job = c->job;
  double shown = 0;
  for (int32_t running = 1; running > 0;) {
    const double elapsed = zp_clock_s() - started;
    running = 0;
    for (int32_t k = 0; k < job->jobs; k++) running += look_after(c, k);
    if (job->seconds > 0 && elapsed >= job->seconds) c->b->stop = 1;
    if (elapsed - shown > 0.2) {
      show(c, elapsed, 0);
      shown = elapsed;
    }
    nap();
  }
}

void zp_fuzz_run(const zp_fuzz_job *job, zp_fuzz_outcome *out)
{
  const size_t bytes = sizeof(board) + (size_t)job->jobs * sizeof(worker);
  const double started = zp_clock_s();
  static crew c;
  memset(out, 0, sizeof *out);
  memset(&c, 0, sizeof c);
  c.job = job;
  c.out = out;
  c.b = shared(bytes);
  if (c.b == NULL) {
    out->end = ZP_FUZZ_BROKEN;
    return;
  }
  fflush(NULL); /* children must not print what is buffered here */
  for (int32_t k = 0; k < job->jobs; k++) {
    c.pid[k] = zp_child_fork(SIGKILL);
    if (c.pid[k] == 0) work(job, c.b, k);
    if (c.pid[k] < 0) {
      c.pid[k] = 0;
      note(&c, ZP_FUZZ_BROKEN, 0);
    }
  }
  supervise(&c, started);
  out->seconds = zp_clock_s() - started;
  show(&c, out->seconds, 1);
  for (int32_t k = 0; k < job->jobs; k++) {
    add_sums(&out->sums, &c.b->w[k].sums);
    out->cpu_ns += c.b->w[k].cpu_ns;
  }
  munmap(c.b, bytes);
}

/* ---- Coverage -------------------------------------------------------------------------------- */

static int is_unsupported(const zp_backend *e, int32_t axis)
{
  for (int32_t k = 0; k < e->unsupported_count; k++)
    if (strcmp(e->unsupported[k], zp_fuzz_axis_name(axis)) == 0) return 1;
  return 0;
}

int zp_fuzz_is_counted(const zp_fuzz_job *job, int32_t axis)
{
  return job->engine->schedules > 0 || !zp_fuzz_axis_is_option(axis);
}

int zp_fuzz_is_thin(const zp_fuzz_job *job, const zp_fuzz_sums *s, int32_t axis)
{
  return s->cases >= ZP_FUZZ_COVERAGE_CASES && !job->engine->own_cases &&
         zp_fuzz_is_counted(job, axis) && !is_unsupported(job->engine, axis) &&
         (double)s->on_axis[axis] < zp_fuzz_axis_share_min(axis) * (double)s->cases;
}

int32_t zp_fuzz_thin_axes(const zp_fuzz_job *job, const zp_fuzz_sums *s)
{
  int32_t n = 0;
  for (int32_t i = 0; i < zp_fuzz_axes(); i++) n += zp_fuzz_is_thin(job, s, i);
  return n;
}
