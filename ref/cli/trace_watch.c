/* zeroproof trace watch: a table of the ranks of a running job, and an alarm when it stalls. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/child.h"
#include "../trace/watch.h"
#include "cli.h"
#include "commands.h"
#include "trace_cli.h"

enum { ROWS = 24, SENTENCE = 2400 };

static int64_t wall_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static double idle_s(int64_t changed, int64_t now)
{
  return now > changed ? (double)(now - changed) / 1e9 : 0;
}

enum { STATE = 24 };

static const char *state_of(const zp_watched *k, char text[STATE])
{
  if (!k->opened) return "no trace yet";
  if (k->reader.exit.how == ZP_TRACE_UNKNOWN) return "status unknown";
  if (k->reader.exit.how != ZP_TRACE_NO_EXIT)
    snprintf(text, STATE, "exit status %d", (int)k->reader.exit.status);
  if (k->reader.exit.how != ZP_TRACE_NO_EXIT) return text;
  if (k->reader.state == ZP_TRACE_DAMAGED) return "damaged";
  if (k->reader.state == ZP_TRACE_ENDED) return "completed";
  return k->writer == ZP_WRITER_RUNS    ? "runs"
         : k->writer == ZP_WRITER_ENDED ? "ended"
                                        : "no end mark";
}

/* ---- The table ------------------------------------------------------------------------------- */

static int by_progress(const void *a, const void *b, void *watch)
{
  const zp_watch *w = watch;
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  const zp_watched *p = &w->rank[x], *q = &w->rank[y];
  if (p->reader.records != q->reader.records) return p->reader.records < q->reader.records ? -1 : 1;
  if (p->changed != q->changed) return p->changed < q->changed ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int ascending(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The ranks that lag most, by rank. */
static void print_table(const zp_watch *w, int64_t now)
{
  int32_t *rank = malloc((size_t)w->world * sizeof *rank + 1);
  const int32_t n = w->world < ROWS ? w->world : ROWS;
  if (rank == NULL) return;
  for (int32_t r = 0; r < w->world; r++) rank[r] = r;
  qsort_r(rank, (size_t)w->world, sizeof *rank, by_progress, (void *)(uintptr_t)w);
  qsort(rank, (size_t)n, sizeof *rank, ascending);
  printf("%8s %8s %10s %8s %8s  %-15s %s\n", "rank", "step", "records", "lag", "idle s", "state",
         "last operation");
  for (int32_t i = 0; i < n; i++) {
    const zp_watched *k = &w->rank[rank[i]];
    char step[24] = "-", idle[24] = "-", state[STATE];
    if (k->step >= 0) snprintf(step, sizeof step, "%" PRId64, k->step);
    if (k->opened) snprintf(idle, sizeof idle, "%.1f", idle_s(k->changed, now));
    printf("%8d %8s %10" PRId64 " %8" PRId64 " %8s  %-15s %s\n", (int)rank[i], step,
           k->reader.records, w->most - k->reader.records, idle, state_of(k, state), k->last);
  }
  if (n < w->world) printf("and %d ranks that lag less\n", (int)(w->world - n));
  free(rank);
}

static void print_line(const zp_watch *w, int64_t now)
{
  int64_t first = INT64_MAX, last = -1;
  int32_t behind = -1;
  for (int32_t r = 0; r < w->world; r++) {
    const zp_watched *k = &w->rank[r];
    if (k->step < first) first = k->step;
    if (k->step > last) last = k->step;
    if (behind < 0 || k->reader.records < w->rank[behind].reader.records) behind = r;
  }
  printf("%d of %d ranks have traces, %d ended", (int)w->files, (int)w->world, (int)w->ended);
  if (last >= 0) printf("; steps %" PRId64 " to %" PRId64, first, last);
  if (behind >= 0 && w->rank[behind].reader.records < w->most)
    printf("; rank %d lags by %" PRId64 " of %" PRId64 " records", (int)behind,
           w->most - w->rank[behind].reader.records, w->most);
  else printf("; %" PRId64 " records of each rank", w->most);
  if (w->records == 0) printf(" yet");
  else if (w->changed) printf("; idle for %.1f s", idle_s(w->changed, now));
  putchar('\n');
}

/* ---- The alarm ------------------------------------------------------------------------------- */

/* Runs a command with the sentence in its environment. */
static void run_command(const char *command, const char *sentence, const char *dir)
{
  int status = 0;
  fflush(stdout);
  setenv("ZEROPROOF_ALARM", sentence, 1);
  setenv("ZEROPROOF_ALARM_DIR", dir, 1);
  const pid_t child = zp_child_fork(SIGTERM);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  if (child < 0) perror("zeroproof trace: --command");
  else if (waitpid(child, &status, 0) == child && status != 0)
    fprintf(stderr, "zeroproof trace: --command %s: exit status %d.\n", command,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Whether the process that wrote a trace has ended, and the trace does not say how. */
static int is_gone(const zp_watched *k)
{
  return k->opened && k->reader.state == ZP_TRACE_READING && k->writer == ZP_WRITER_ENDED;
}

/* "rank 1's process has ended without an end mark (step 2, 3 records)". Returns the number of such
 * ranks. */
static int32_t name_gone(const zp_watch *w, char *text, size_t cap)
{
  enum { NAMED = 8 };
  char ranks[NAMED * 16] = "", step[40] = "";
  int32_t n = 0, last = -1;
  for (int32_t r = 0; r < w->world; r++) {
    if (!is_gone(&w->rank[r])) continue;
    const size_t at = strlen(ranks);
    if (n < NAMED) snprintf(ranks + at, sizeof ranks - at, "%s%d", n > 0 ? ", " : "", (int)r);
    last = r;
    n++;
  }
  if (n > 1)
    snprintf(text, cap, "the processes of %d ranks (%s%s) have ended without end marks", (int)n,
             ranks, n > NAMED ? ", ..." : "");
  if (n != 1) return n;
  const zp_watched *k = &w->rank[last];
  if (k->step >= 0) snprintf(step, sizeof step, "step %" PRId64 ", ", k->step);
  snprintf(text, cap, "rank %d's process has ended without an end mark (%s%" PRId64 " record%s)",
           (int)last, step, k->reader.records, k->reader.records == 1 ? "" : "s");
  return n;
}

/* Whether the traces of the ranks that deviate stop because their processes have ended, and no
 * other process has. If all processes have ended, the first of them is not known. */
static int is_cause(const zp_watch *w, const zp_trace_cause *c, int32_t gone)
{
  if (gone == w->world || c->n_ranks != gone ||
      (strcmp(c->kind, "hang") != 0 && strcmp(c->kind, "truncated") != 0))
    return 0;
  for (int32_t i = 0; i < c->n_ranks; i++)
    if (c->ranks[i] >= w->world || !is_gone(&w->rank[c->ranks[i]])) return 0;
  return 1;
}

/* The exit of a rank is a warning if no rank waits for it. */
static const zp_trace_finding *exit_in(const zp_trace_verdict *v)
{
  for (int32_t i = 0; i < v->findings; i++)
    if (strcmp(v->finding[i].kind, "exit") == 0) return &v->finding[i];
  return NULL;
}

/* One sentence: why the job has failed or stands still. */
static void explain(const zp_watch *w, const zp_trace_verdict *v, const zp_error *err, char *text)
{
  char ended[256] = "";
  const int32_t gone = name_gone(w, ended, sizeof ended);
  const zp_trace_cause *c = v->causes > 0 ? &v->cause[0] : NULL;
  const zp_trace_finding *left = exit_in(v);
  if (gone > 0 && c != NULL && is_cause(w, c, gone)) {
    const char *waiting = strstr(c->text, "; ");
    snprintf(text, SENTENCE, "%s%.2000s", ended, waiting ? waiting : "");
    return;
  }
  if (c != NULL) zp_trace_sentence(c, text, SENTENCE - sizeof ended);
  else if (err->status != 0) snprintf(text, SENTENCE, "%.2000s", err->text);
  else if (gone > 0 && left == NULL) {
    snprintf(text, SENTENCE, "%s: killed, or not closed", ended);
    return;
  } else if (left != NULL) snprintf(text, SENTENCE, "%.2000s", left->text);
  else if (v->findings > 0) snprintf(text, SENTENCE, "%.2000s", v->finding[0].text);
  else snprintf(text, SENTENCE, "the traces are consistent so far");
  if (gone > 0) snprintf(text + strlen(text), SENTENCE - strlen(text), "; %s", ended);
}

/* Judges the run. Returns whether it is good; else why not, in text. ended: all ranks have. */
static int judge(const zp_watch *w, const zp_trace_attempt *of, int ended, char *text, int *more)
{
  zp_trace_verdict v = {0};
  zp_error err = {0};
  const int judged = zp_trace_judge(of->dir, &v, &err) == 0;
  const int good = judged && ended && v.errors == 0 && w->failed == 0;
  if (good)
    printf("all %d ranks completed: %" PRId64 " records, consistent\n", (int)w->world, w->records);
  else explain(w, &v, &err, text);
  *more = v.causes > 0 || v.findings > 0;
  zp_trace_verdict_free(&v);
  return good;
}

static int alarm_of(const zp_watch_options *o, const char *dir, const char *sentence, int more)
{
  printf("alarm: %s\n", sentence);
  if (more) printf("zeroproof trace check %s prints the rest.\n", dir);
  if (o->command) run_command(o->command, sentence, dir);
  return ZP_EXIT_VERDICT;
}

/* ---- Watching -------------------------------------------------------------------------------- */

/* The folder of the attempt, or NULL before it exists. */
static const char *find(const zp_watch_options *o, zp_trace_attempt *of)
{
  const int32_t before = of->number;
  zp_error err = {0};
  struct stat about;
  if (stat(o->dir, &about) != 0 || zp_trace_find_attempt(o->dir, o->attempt, of, &err) != 0)
    return NULL;
  if (of->number != before && of->number > 0) printf("attempt %d\n", (int)of->number);
  return of->dir;
}

static void show(const zp_watch_options *o, const zp_watch *w, int64_t now, int first)
{
  const int terminal = isatty(STDOUT_FILENO);
  if (terminal && !o->once) fputs("\033[H\033[J", stdout);
  if (w->world > 0) {
    print_line(w, now);
    if (terminal || o->once) print_table(w, now);
  } else if (o->once || terminal || first) printf("no traces in %s yet\n", o->dir);
  fflush(stdout);
}

/* After a rank has failed, the others are not waited for so long. */
static double limit_of(const zp_watch_options *o, const zp_watch *w)
{
  enum { AFTER_FAILURE = 30 };
  return w->failed > 0 && o->stall > AFTER_FAILURE ? AFTER_FAILURE : o->stall;
}

/* A watch, and the attempt that it waits to be followed by another one. */
typedef struct following {
  zp_watch w;
  zp_trace_attempt of;
  int32_t first;                /* the number of the first attempt with traces; -1: none yet */
  int64_t start, shown, failed; /* ns; failed: since when it waits for another attempt; 0: not */
  int32_t number, more;         /* of the failed attempt; whether `trace check` prints more */
  char why[SENTENCE];           /* of its failure */
} following;

/* The attempt has ended, or stands still for `stalled` seconds. Returns the exit code, or -1: the
 * watch waits for another attempt. */
static int conclude(const zp_watch_options *o, following *f, int ended, double stalled, int64_t now)
{
  char sentence[SENTENCE + 64];
  if (judge(&f->w, &f->of, ended, f->why, &f->more)) return ZP_EXIT_GOOD;
  if (f->w.failed > 0 && f->of.number - f->first < o->restarts) {
    printf("attempt %d failed: %s; waiting for another attempt for up to %g s\n", (int)f->of.number,
           f->why, o->stall);
    fflush(stdout);
    f->failed = now;
    f->number = f->of.number;
    return -1;
  }
  snprintf(sentence, sizeof sentence, "no progress for %.0f s: %s", stalled, f->why);
  return alarm_of(o, f->of.dir, ended ? f->why : sentence, f->more);
}

/* Waits for another attempt. Returns the exit code, or -1. */
static int wait_for_attempt(const zp_watch_options *o, following *f, int64_t now)
{
  char sentence[SENTENCE + 96];
  if (f->of.number != f->number) f->failed = 0;
  if (f->failed == 0 || idle_s(f->failed, now) < o->stall) return -1;
  snprintf(sentence, sizeof sentence, "attempt %d failed, and no other began within %g s: %s",
           (int)f->number, o->stall, f->why);
  return alarm_of(o, f->of.dir, sentence, f->more);
}

/* Looks once. Returns the exit code, or -1. */
static int look(const zp_watch_options *o, following *f)
{
  zp_error err = {0};
  zp_watch *w = &f->w;
  const char *dir = find(o, &f->of);
  if (f->failed != 0) {
    const int code = wait_for_attempt(o, f, wall_ns());
    if (code >= 0 || f->failed != 0) return code;
  }
  if (zp_watch_look(w, dir, &err) != 0) {
    fprintf(stderr, "zeroproof trace: %s\n", err.text);
    return zp_exit_of(err.status);
  }
  if (f->first < 0 && w->world > 0) f->first = f->of.number;
  const int64_t now = wall_ns(), since = w->changed ? w->changed : f->start;
  /* before its first operation a job loads data and compiles: that is no stall */
  const int begun = w->records > 0 || w->failed > 0;
  const double stalled = begun ? idle_s(since, now) : 0, most = limit_of(o, w);
  const int ended = w->world > 0 && w->ended == w->world;
  if (o->once || isatty(STDOUT_FILENO) || w->records != f->shown) show(o, w, now, f->shown < 0);
  f->shown = w->records;
  if (!ended && stalled < most) return o->once ? ZP_EXIT_GOOD : -1;
  if (!ended && !o->once && w->world > 0) print_table(w, now);
  return conclude(o, f, ended, stalled, now);
}

int zp_trace_watch(const zp_watch_options *o)
{
  following f = {.first = -1, .shown = -1, .start = wall_ns()};
  const struct timespec t = {(time_t)o->interval,
                             (long)((o->interval - (double)(time_t)o->interval) * 1e9)};
  int code = look(o, &f);
  while (code < 0) {
    nanosleep(&t, NULL);
    code = look(o, &f);
  }
  zp_watch_free(&f.w);
  return code;
}
