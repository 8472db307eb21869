/* zeroproof elastic: a supervisor outside mpirun. It starts a training job, and when a rank is lost
 * it waits until every process of the job is gone, and starts the job again on the slots that are
 * left, from the last checkpoint, with the same global batch and exact sums: so the job ends with
 * the bits of a run without faults. spec: CKPT-2, CKPT-5, RED-5 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/clock.h"
#include "../comm/job/remains.h"
#include "../comm/mpi/comm_mpi.h"
#include "commands.h"
#include "elastic.h"
#include "train_session.h"

enum { KEY_RESTARTS = 0x1300, KEY_FUTILE, KEY_RETURN, KEY_MIN, KEY_STALL, KEY_DEADLINE };
enum { KEY_HOSTS = 0x1380, KEY_AGENT, KEY_END, KEY_VERBOSE };
enum { RESTARTS = 100, FUTILE = 5, STALL_S = 600, ADDED = 28, LOCKS_S = 120 };
static const char *const name = "zeroproof elastic";

enum { LOSS = 2304, HOW = LOSS + 256 };

typedef struct elastic {
  zp_hosts hosts;
  int64_t slots;     /* of this host, 0 until given */
  const char *agent; /* as of launch, or NULL */
  const char *end;   /* a mark: only ends the processes that have it */
  int64_t restarts, futile, min;
  int32_t returns;
  double stall_s;
  const char *deadline; /* as text, or NULL */
  int32_t verbose;      /* 1: no log */
  char **command;       /* train and its arguments */
  int32_t n_command;
  const zp_backend *engine;
  zp_train_args train; /* what the command asks for */
  int64_t steps;       /* the run ends before this one */
  zp_elastic_size *size;
  int64_t n_sizes;
  char mark[40], hosts_file[4096];
  char log[4096];  /* where the jobs' standard error is appended; "": to that of this process */
  int32_t logged;  /* 1: something may have been appended */
  char loss[LOSS]; /* the cause of the loss of attempt `lost`, until a line has it; "": none */
  int64_t lost;
} elastic;

static const struct argp_option options[] = {
    {"slots", 's', "N", 0, "How many ranks this machine can run (required without --hosts)", 0},
    {"hosts", KEY_HOSTS, "FILE", 0,
     "Run on these hosts, as of launch: a line each, NAME slots=RANKS; all see one folder of "
     "--save",
     0},
    {"agent", KEY_AGENT, "PROGRAM", 0, "As of launch; also ends what is left of a job there", 0},
    {"end-marked", KEY_END, "MARK", OPTION_HIDDEN,
     "End the processes of the job MARK on this host: what the supervisor starts on others", 0},
    {"slots-return", KEY_RETURN, NULL, 0,
     "The slot of a rank that was lost counts again in the next attempt, also those of a host once "
     "it answers (default: they are lost)",
     0},
    {"min-ranks", KEY_MIN, "N", 0, "Do not run with fewer ranks, such as for lack of memory (1)",
     0},
    {"restarts", KEY_RESTARTS, "N", 0, "Give up after so many restarts (100)", 0},
    {"futile", KEY_FUTILE, "N", 0,
     "Give up after so many attempts in a row that published no checkpoint (5)", 0},
    {"stall", KEY_STALL, "SECONDS", 0,
     "End an attempt that prints nothing for so long; longer than the longest step. 0: never (600)",
     0},
    {"deadline", KEY_DEADLINE, "SECONDS", 0, "As of launch", 0},
    {"verbose", KEY_VERBOSE, NULL, 0,
     "Print all messages of the jobs to standard error (default: they are appended to the file "
     "DIR.log beside the folder DIR of --save)",
     0},
    {0}};

static const char doc[] =
    "Trains as `launch` does, and restarts the job from its last checkpoint when a rank or mpirun "
    "is lost: with the largest pp x dp that the slots left admit. dp x micro-batches stays the "
    "same and sums are exact, so the result has the bits of a run without faults.\v"
    "Example: zeroproof elastic --slots 6 train --steps 1000 --save ck --save-every 50\n\n"
    "The command needs --save and --save-every. Its --steps counts from step 0: if the folder of "
    "--save has a checkpoint, the first attempt continues from it, too. --pp, --dp and "
    "--micro-batches set the global batch, dp x micro-batches; of sizes with equally many ranks "
    "the one whose pp is nearest to --pp is used.\n\n"
    "Exit codes: 0 trained; 1, 2 as of train, which is then not restarted; 3 no admissible size "
    "is left, or too many restarts, or the environment failed.";

/* ---- Arguments ------------------------------------------------------------------------------- */

static int64_t take(struct argp_state *state, const char *flag, const char *arg, int64_t lo,
                    int64_t hi)
{
  int64_t n = 0;
  if (zp_parse_count(arg, &n) != 0 || n < lo || n > hi)
    argp_error(state, "%s: '%s' is not a number from %lld to %lld.", flag, arg, (long long)lo,
               (long long)hi);
  return n;
}

static void take_hosts(elastic *e, const char *arg, struct argp_state *state)
{
  char why[512];
  if (e->hosts.file != NULL) argp_error(state, "--hosts: name one file.");
  if (zp_hosts_read(&e->hosts, arg, why, sizeof why) != 0) argp_error(state, "--hosts: %s.", why);
}

static void check_hosts(elastic *e, struct argp_state *state)
{
  if ((e->slots == 0) == (e->hosts.file == NULL))
    argp_error(state, "say how many ranks this machine can run: --slots N; or on which hosts the "
                      "job runs: --hosts FILE.");
  if (e->agent != NULL && e->hosts.file == NULL)
    argp_error(state, "--agent starts commands on other hosts: name them with --hosts FILE.");
  if (e->hosts.file != NULL) return;
  e->hosts.n = 1;
  e->hosts.at[0] = (zp_host){.name = "localhost", .slots = e->slots, .here = 1, .answers = 1};
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  elastic *e = state->input;
  switch (key) {
  case 's': e->slots = take(state, "--slots", arg, 1, ZP_MAX_RANKS); return 0;
  case KEY_HOSTS: take_hosts(e, arg, state); return 0;
  case KEY_AGENT: e->agent = arg; return 0;
  case KEY_END: e->end = arg; return 0;
  case KEY_RETURN: e->returns = 1; return 0;
  case KEY_MIN: e->min = take(state, "--min-ranks", arg, 1, ZP_MAX_RANKS); return 0;
  case KEY_RESTARTS: e->restarts = take(state, "--restarts", arg, 0, 1000000); return 0;
  case KEY_FUTILE: e->futile = take(state, "--futile", arg, 1, 1000000); return 0;
  case KEY_STALL: e->stall_s = zp_launch_seconds(state, "--stall", arg, 1); return 0;
  case KEY_DEADLINE:
    zp_launch_seconds(state, "--deadline", arg, 0);
    e->deadline = arg;
    return 0;
  case KEY_VERBOSE: e->verbose = 1; return 0;
  case ARGP_KEY_ARG: /* the sub-command: what follows is its own */
    e->command = state->argv + state->next - 1;
    e->n_command = state->argc - state->next + 1;
    state->next = state->argc;
    return 0;
  case ARGP_KEY_END:
    if (e->end != NULL) return 0;
    check_hosts(e, state);
    if (e->n_command == 0 || strcmp(e->command[0], "train") != 0)
      argp_error(state, "'%s' cannot be restarted; name the sub-command train.",
                 e->n_command > 0 ? e->command[0] : "");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Reads the train command as train does. 0, or an exit code after a message. */
static int read_command(elastic *e)
{
  zp_train_args *a = &e->train;
  static char full[] = "zeroproof train";
  char **argv = calloc((size_t)e->n_command + 1, sizeof *argv);
  int code = argv == NULL ? ZP_EXIT_ENVIRONMENT : 0;
  for (int32_t i = 0; code == 0 && i < e->n_command; i++) argv[i] = i == 0 ? full : e->command[i];
  a->shape = zp_gpt_shape_default();
  a->engine = e->engine;
  zp_options_init(&a->o, full);
  a->files = calloc((size_t)e->n_command + 1, sizeof *a->files);
  if (a->files == NULL) code = ZP_EXIT_ENVIRONMENT;
  if (code == 0) code = zp_cli_parse(&zp_train_argp, e->n_command, argv, a);
  if (code == 0) code = zp_options_finish(&a->o);
  if (code == 0) code = zp_train_settle(a);
  free(argv); /* options point to its words, which are main's */
  return code;
}

/* What cannot be restarted is refused. 0, or an exit code after a message. */
static int check_command(const elastic *e)
{
  const zp_train_args *a = &e->train;
  const char *why = NULL;
  if (a->save == NULL || a->save_every == 0)
    why = "a job is restarted from its checkpoints: give train --save DIR and --save-every N.";
  else if (a->o.value[ZP_OPT_REDUCE] != ZP_EXACT)
    why = "--reduce: only exact sums have the same bits with another dp; leave the option out.";
  else if (a->verify || a->plot != NULL || a->o.json)
    why = "--verify, --plot and --json describe a run from its first step to its last, and an "
          "attempt is a part of it; leave them out.";
  if (why == NULL) return 0;
  fprintf(stderr, "%s: %s\n", name, why);
  return ZP_EXIT_REFUSED;
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

/* Where the next attempt begins: at *step, from the checkpoint in *folder (NULL: from nothing). 0,
 * or an exit code after a message: there is a checkpoint, and it is damaged. */
static int find_checkpoint(const elastic *e, int64_t *step, const char **folder)
{
  zp_error err = {0};
  char *words = NULL, path[4096];
  struct stat s;
  snprintf(path, sizeof path, "%s/LATEST", e->train.save);
  *folder = lstat(path, &s) == 0 || errno != ENOENT ? e->train.save : e->train.load;
  *step = 0;
  if (*folder == NULL) return 0;
  const int status = zp_ckpt_peek(*folder, step, &words, &err);
  free(words);
  if (status == 0) return 0;
  fprintf(stderr, "%s: %s\n", name, err.text);
  return ZP_EXIT_REFUSED;
}

/* ---- Attempts -------------------------------------------------------------------------------- */

/* The largest size for the slots; NULL after a message. */
static const zp_elastic_size *choose(const elastic *e)
{
  char text[2048];
  int32_t hosts;
  int64_t n = e->n_sizes;
  const int64_t slots = zp_hosts_slots(&e->hosts, &hosts);
  for (int64_t i = 0; i < e->n_sizes; i++) {
    const int64_t ranks = (int64_t)e->size[i].pp * e->size[i].dp;
    if (ranks < e->min && n == e->n_sizes) n = i;
    if (ranks >= e->min && ranks <= slots) return &e->size[i];
  }
  zp_elastic_list(e->size, n, text, sizeof text);
  fprintf(stderr,
          "%s: no admissible size: %lld slots are left, and at least %lld ranks are required; "
          "numbers of ranks that the global batch of %lld micro-batches admits: %s\n",
          name, (long long)slots, (long long)e->min,
          (long long)(e->size[0].dp * e->size[0].micro_batches), text);
  return NULL;
}

typedef struct numbers {
  char ranks[16], pp[16], dp[16], micro_batches[24], steps[24];
} numbers;

/* The argument vector of launch: the command, and after it what replaces its own. malloc'ed. */
static char **launch_argv(const elastic *e, const zp_elastic_size *size, int64_t steps,
                          const char *folder, numbers *n)
{
  char **v = calloc((size_t)e->n_command + ADDED, sizeof *v);
  int32_t k = 0;
  if (v == NULL) return NULL;
  snprintf(n->ranks, sizeof n->ranks, "%d", (int)(size->pp * size->dp));
  snprintf(n->pp, sizeof n->pp, "%d", (int)size->pp);
  snprintf(n->dp, sizeof n->dp, "%d", (int)size->dp);
  snprintf(n->micro_batches, sizeof n->micro_batches, "%" PRId64, size->micro_batches);
  snprintf(n->steps, sizeof n->steps, "%" PRId64, steps);
  const char *const before[] = {"zeroproof launch", "-n", n->ranks};
  const char *const after[] = {
      "--pp", n->pp, "--dp", n->dp, "--steps", n->steps, "--micro-batches", n->micro_batches};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) v[k++] = (char *)(uintptr_t)before[i];
  if (e->deadline != NULL) {
    v[k++] = (char *)(uintptr_t) "--deadline";
    v[k++] = (char *)(uintptr_t)e->deadline;
  }
  if (*e->hosts_file) {
    v[k++] = (char *)(uintptr_t) "--hosts";
    v[k++] = (char *)(uintptr_t)e->hosts_file;
  }
  if (e->agent != NULL) {
    v[k++] = (char *)(uintptr_t) "--agent";
    v[k++] = (char *)(uintptr_t)e->agent;
  }
  for (int32_t i = 0; i < e->n_command; i++) v[k++] = e->command[i];
  for (size_t i = 0; i < sizeof after / sizeof *after; i++) v[k++] = (char *)(uintptr_t)after[i];
  if (folder != NULL) {
    v[k++] = (char *)(uintptr_t) "--load";
    v[k++] = (char *)(uintptr_t)folder;
  }
  return v;
}

/* Opens the log for the job's standard error; *fd -1: it goes to that of this process. 0, or an
 * exit code after a message. */
static int open_log(elastic *e, int *fd)
{
  *fd = *e->log ? open(e->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
  e->logged |= *fd >= 0;
  if (*e->log == 0 || *fd >= 0) return 0;
  fprintf(stderr,
          "%s: the messages of the job cannot be written to %s: %s; --verbose prints them\n", name,
          e->log, strerror(errno));
  return ZP_EXIT_ENVIRONMENT;
}

static int run_attempt(elastic *e, const zp_elastic_size *size, int64_t step, const char *folder,
                       zp_attempt *out)
{
  numbers n;
  int log;
  const int64_t ranks = (int64_t)size->pp * size->dp;
  if (open_log(e, &log) != 0) return ZP_EXIT_ENVIRONMENT;
  if (zp_hosts_write(&e->hosts, ranks, e->hosts_file, sizeof e->hosts_file) != 0) {
    fprintf(stderr, "%s: cannot write %s: %s\n", name, e->hosts_file, strerror(errno));
    if (log >= 0) close(log);
    return ZP_EXIT_ENVIRONMENT;
  }
  char **argv = launch_argv(e, size, e->steps - step, folder, &n);
  const zp_attempt_args args = {argv, e->engine, e->mark, log, e->stall_s};
  const int failed = argv == NULL || zp_attempt_run(&args, out) != 0;
  if (failed) fprintf(stderr, "%s: cannot start a process: %s\n", name, strerror(errno));
  if (*e->hosts_file) unlink(e->hosts_file);
  if (log >= 0) close(log);
  free(argv);
  return failed ? ZP_EXIT_ENVIRONMENT : 0;
}

static const char *plural(int64_t n)
{
  return n == 1 ? "" : "s";
}

/* What the attempt lost, or why it failed, in one line. */
static void describe_loss(const zp_attempt *a, char text[LOSS])
{
  size_t n = 0;
  if (*a->text == 0 && WIFEXITED(a->status))
    snprintf(text, LOSS, "exit code %d", WEXITSTATUS(a->status));
  if (*a->text == 0) return;
  for (const char *p = a->text; *p != 0 && n + 1 < LOSS; p++) {
    text[n++] = *p == '\n' ? ' ' : *p;
    if (*p == '\n') p += strspn(p + 1, " "); /* an error's further lines are indented */
  }
  text[n] = 0;
}

/* Is the job over, whatever a further attempt would do? Then *code is the exit code, and `how` says
 * how it ended. */
static int is_over(const zp_attempt *a, int64_t attempt, int *code, char how[HOW])
{
  const int own = WIFEXITED(a->status) ? WEXITSTATUS(a->status) : -1;
  char loss[LOSS] = "";
  *code = ZP_EXIT_ENVIRONMENT;
  if (a->cancelled)
    snprintf(how, HOW, "cancelled by signal %d (%s) in attempt %lld", a->cancelled,
             strsignal(a->cancelled), (long long)attempt);
  else if (*a->left) snprintf(how, HOW, "%.200s: not ended by SIGKILL", a->left);
  else if (a->output_error)
    snprintf(how, HOW, "standard output could not be written: %s", strerror(a->output_error));
  else if (own == ZP_EXIT_GOOD) {
    *code = own;
    snprintf(how, HOW, "finished after %lld attempt%s", (long long)attempt, plural(attempt));
  } else if (own == ZP_EXIT_VERDICT || own == ZP_EXIT_REFUSED) {
    *code = own;
    if (*a->text) describe_loss(a, loss);
    snprintf(how, HOW,
             "attempt %lld ended with exit code %d%s%s; it is not restarted, because "
             "another attempt would end in the same way",
             (long long)attempt, own, *loss ? ": " : "", loss);
  } else return 0;
  return 1;
}

/* Ends with the line that says how it ended, and where training stands, after one with the cause of
 * a loss that no line has. folder: of the last checkpoint, or NULL. */
static int conclude(const elastic *e, int code, int64_t step, const char *folder, const char *how)
{
  if (*e->loss) fprintf(stderr, "%s: attempt %lld: %s\n", name, (long long)e->lost, e->loss);
  fprintf(stderr, "%s: %s; ", name, how);
  if (folder != NULL) fprintf(stderr, "the last checkpoint is of step %lld", (long long)step);
  else fputs("there is no checkpoint", stderr);
  if (code != ZP_EXIT_GOOD && e->logged) fprintf(stderr, "; all messages are in %s", e->log);
  fputs("\n", stderr);
  return code;
}

static void announce(elastic *e, int64_t attempt, const zp_elastic_size *size, int64_t step,
                     const char *folder)
{
  const int64_t ranks = (int64_t)size->pp * size->dp;
  int32_t hosts;
  const int64_t slots = zp_hosts_slots(&e->hosts, &hosts);
  fflush(stdout);
  fprintf(stderr, "%s: attempt %lld: %lld rank%s (pp %d, dp %d) on %lld slot%s", name,
          (long long)attempt, (long long)ranks, plural(ranks), (int)size->pp, (int)size->dp,
          (long long)slots, plural(slots));
  if (e->hosts.file != NULL) fprintf(stderr, " of %d host%s", (int)hosts, plural(hosts));
  fprintf(stderr, ", from step %lld%s%s", (long long)step,
          folder != NULL ? " in " : ", without a checkpoint", folder != NULL ? folder : "");
  if (*e->loss) fprintf(stderr, "; attempt %lld: %s", (long long)e->lost, e->loss);
  if (*e->loss && *e->log) fprintf(stderr, " (all messages: %s)", e->log);
  fputs("\n", stderr);
  *e->loss = 0;
}

/* Waits until no process holds a lock of the checkpoint: one on a host that does not answer may
 * still publish (CKPT-7). It gives up after its deadline, or is ended by its daemon after two.
 * Returns 0, or an exit code after a message. */
static int await_locks(const elastic *e)
{
  const struct timespec pause = {0, 100000000};
  const double deadline = e->deadline != NULL ? strtod(e->deadline, NULL) : zp_mpi_deadline();
  const double until = zp_clock_s() + 4 * deadline + LOCKS_S;
  zp_error err = {0};
  while (zp_ckpt_unlocked(e->train.save, &err) != 0) {
    if (zp_clock_s() >= until) {
      fprintf(stderr, "%s: a process of the job is left: %s\n", name, err.text);
      return ZP_EXIT_ENVIRONMENT;
    }
    memset(&err, 0, sizeof err);
    nanosleep(&pause, NULL);
  }
  return 0;
}

/* After an attempt that has failed: no process of it may be left that could write to the
 * checkpoint, and what it has lost is not used again. 0, or an exit code after a message. */
static int clear(elastic *e, const zp_attempt *a)
{
  if (WIFEXITED(a->status) && WEXITSTATUS(a->status) == ZP_EXIT_GOOD) return 0;
  const int32_t lost = zp_hosts_clear(&e->hosts, e->agent, e->mark, e->returns);
  if (lost < 0) {
    fprintf(stderr, "%s: cannot end processes on other hosts: %s\n", name, strerror(errno));
    return ZP_EXIT_ENVIRONMENT;
  }
  /* of a host that does not answer, others may be named as the cause */
  if (lost == 0 && !e->returns) zp_hosts_lose(&e->hosts, a);
  return a->cancelled || *a->left ? 0 : await_locks(e);
}

/* Gives up. */
static int give_up(const elastic *e, int64_t attempt, int64_t futile, int64_t step,
                   const char *folder)
{
  char how[HOW];
  if (futile >= e->futile)
    snprintf(how, sizeof how, "gave up: the last %lld attempts published no checkpoint (--futile)",
             (long long)futile);
  else
    snprintf(how, sizeof how, "gave up after %lld attempts: %lld restart%s (--restarts)",
             (long long)attempt, (long long)e->restarts, plural(e->restarts));
  return conclude(e, ZP_EXIT_ENVIRONMENT, step, folder, how);
}

static int supervise(elastic *e)
{
  char how[HOW];
  int64_t futile = 0;
  for (int64_t attempt = 1;; attempt++) {
    const char *folder, *now;
    zp_attempt a;
    int64_t step, after;
    int end;
    int code = find_checkpoint(e, &step, &folder);
    if (code != 0) return code; /* of the first attempt: others have found theirs */
    if (step >= e->steps) {
      snprintf(how, sizeof how, "nothing to do: all %lld steps are trained", (long long)e->steps);
      return conclude(e, ZP_EXIT_GOOD, step, folder, how);
    }
    const zp_elastic_size *size = choose(e);
    if (size == NULL) {
      snprintf(how, sizeof how, "gave up after %lld attempt%s", (long long)(attempt - 1),
               plural(attempt - 1));
      return conclude(e, ZP_EXIT_ENVIRONMENT, step, folder, how);
    }
    announce(e, attempt, size, step, folder);
    code = run_attempt(e, size, step, folder, &a);
    if (code != 0) return conclude(e, code, step, folder, "no attempt could be made");
    code = clear(e, &a);
    if (code == 0) code = find_checkpoint(e, &after, &now);
    if (code == 0 && is_over(&a, attempt, &end, how)) return conclude(e, end, after, now, how);
    describe_loss(&a, e->loss);
    e->lost = attempt;
    if (code != 0) return conclude(e, code, step, folder, "gave up");
    futile = after > step ? 0 : futile + 1;
    if (futile >= e->futile || attempt > e->restarts)
      return give_up(e, attempt, futile, after, now);
  }
}

/* The log beside the folder of --save: "ck/" has "ck.log". */
static void name_log(elastic *e)
{
  size_t n = strlen(e->train.save);
  if (e->verbose) return;
  while (n > 1 && e->train.save[n - 1] == '/') n--;
  snprintf(e->log, sizeof e->log, "%.*s.log", (int)(n < 4000 ? n : 4000), e->train.save);
}

/* The mark by which processes of this supervisor's jobs are found. */
static int make_mark(elastic *e)
{
  uint64_t word[2];
  if (getrandom(word, sizeof word, 0) != (ssize_t)sizeof word) return -1;
  snprintf(e->mark, sizeof e->mark, "%016" PRIx64 "%016" PRIx64, word[0], word[1]);
  return zp_remains_adopt();
}

static int run(elastic *e)
{
  char text[8];
  int code = read_command(e);
  if (code == 0) code = check_command(e);
  if (code != 0) return code;
  e->steps = e->train.o.value[ZP_OPT_STEPS];
  e->size = zp_elastic_sizes(&e->train, &e->n_sizes);
  if (e->size == NULL || e->n_sizes == 0 || make_mark(e) != 0) {
    fprintf(stderr, "%s: no size is admissible, or no memory: %s\n", name, strerror(errno));
    return ZP_EXIT_ENVIRONMENT;
  }
  if (!zp_mpi_library(text, sizeof text)) {
    fprintf(stderr, "%s: this program was built without MPI; build it with Open MPI\n", name);
    return ZP_EXIT_ENVIRONMENT;
  }
  name_log(e);
  return supervise(e);
}

int zp_cmd_elastic(int argc, char **argv, const zp_backend *engine)
{
  static const struct argp argp = {options, parse, "train [OPTION...]", doc, NULL, NULL, NULL};
  static elastic e; /* large */
  e = (elastic){
      .restarts = RESTARTS, .futile = FUTILE, .min = 1, .stall_s = STALL_S, .engine = engine};
  argp_err_exit_status = ZP_EXIT_REFUSED;
  zp_launch_train_options(options, argc, argv);
  if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &e)) return ZP_EXIT_REFUSED;
  if (e.end != NULL) return zp_hosts_end_marked(e.end);
  const int code = run(&e);
  free(e.size);
  free(e.train.files);
  zp_options_free(&e.train.o);
  return code;
}
