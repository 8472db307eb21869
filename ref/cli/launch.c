/* zeroproof launch: mpirun with the options that one machine, root and a failing process need.
 *
 * Survivors. mpirun 4.1.4 kills a job when a process dies; its --enable-recovery keeps survivors
 * but then returns 0 whatever they return. So launch uses neither: it makes mpirun wait GRACE_S
 * seconds between SIGCONT, SIGTERM and SIGKILL, and ranks (comm_mpi) poll for SIGTERM,
 * report their positions and the missing ranks, and exit. spec: LEDG-7 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../comm/job/roster.h"
#include "../comm/mpi/comm_mpi.h"
#include "commands.h"
#include "elastic.h"
#include "launch.h"
#include "options.h"
#include "train_session.h"

enum {
  GRACE_S = 3,
  HOSTS_GRACE_S = 6,
  END_S = 10 * GRACE_S
}; /* END_S: a job that is cancelled, until SIGKILL */

typedef struct launch_args {
  int32_t processes;    /* 1..2^20, 0 until given */
  const char *deadline; /* seconds as text, or NULL */
  const char *hosts;    /* a file for mpirun, or NULL */
  const char *agent;    /* starts a command on a host, or NULL: ssh */
  char *words;          /* further words for mpirun, owned, or NULL */
  char **command;       /* the sub-command and its arguments */
  int32_t n_command;
  const char *program;  /* this binary */
  int32_t root, remote; /* running as root; ssh or rsh is there */
  char count[16], grace[16], idle[16], interval[16], daemon[128]; /* words made here */
} launch_args;

enum { FIXED_WORDS = 48, KEY_DEADLINE = 0x1200, KEY_MPIRUN, KEY_HOSTS, KEY_AGENT, KEY_LOG };

static const struct argp_option options[] = {
    {"processes", 'n', "N", 0, "Processes to start: pp x dp of the command (required)", 0},
    {"deadline", KEY_DEADLINE, "SECONDS", 0,
     "How long a rank waits without any progress before it gives up; longer than its longest "
     "stretch of computing (30)",
     0},
    {"hosts", KEY_HOSTS, "FILE", 0,
     "The hosts to run on, a line each: NAME slots=RANKS; this command and the data have the same "
     "paths on all of them (default: this host)",
     0},
    {"agent", KEY_AGENT, "PROGRAM", 0,
     "Starts a command on a host, called as PROGRAM HOST COMMAND… (ssh)", 0},
    {"log", KEY_LOG, "DIR", 0,
     "A rank that fails also writes its error to DIR/rank.N on its own host, which may be cut off",
     0},
    {"mpirun", KEY_MPIRUN, "WORDS", 0,
     "Further words for mpirun, split at blanks, such as '--bind-to core'; may be repeated", 0},
    {0}};

static const char doc[] =
    "Runs a sub-command as N processes under Open MPI's mpirun, one rank each.\v"
    "Example: zeroproof launch -n 6 train --pp 2 --dp 3\n\n"
    "Plain mpirun works as well: mpirun -n 6 zeroproof train --pp 2 --dp 3. This command adds what "
    "root, more ranks than cores, containers and machines without ssh need, and gives the "
    "survivors of a process that dies the time to say where they were and whom they miss.\n\n"
    "Exit codes: 0 success, 1 a check failed, 2 invalid input, 3 the environment failed.";

static int add_words(launch_args *l, const char *more)
{
  char *joined = NULL;
  if (asprintf(&joined, "%s %s", l->words ? l->words : "", more) < 0) return -1;
  free(l->words);
  l->words = joined;
  return 0;
}

static void take_processes(launch_args *l, const char *arg, struct argp_state *state)
{
  int64_t n = 0;
  if (zp_parse_count(arg, &n) != 0 || n < 1 || n > ZP_MAX_RANKS)
    argp_error(state, "-n: '%s' is not a number from 1 to %lld.", arg, (long long)ZP_MAX_RANKS);
  l->processes = (int32_t)n;
}

double zp_launch_seconds(struct argp_state *state, const char *flag, const char *arg, int zero)
{
  char *end;
  const double s = strtod(arg, &end);
  if (*arg == 0 || *end != 0 || !(s > 0 || (zero && s == 0)) || s >= 1e9)
    argp_error(state, "%s: '%s' is not a number of seconds %s 0 and below 1e9.", flag, arg,
               zero ? "from" : "above");
  return s;
}

/* Whether a list of options has this long name, of n characters. */
static int has(const struct argp_option *o, const char *word, size_t n)
{
  for (; o != NULL && (o->name != NULL || o->key != 0 || o->doc != NULL); o++)
    if (o->name != NULL && strlen(o->name) == n && strncmp(o->name, word, n) == 0) return 1;
  return 0;
}

/* Is the word after this one the value of an option? */
static int takes_next(const struct argp_option *o, const char *word)
{
  for (; o->name != NULL || o->key != 0 || o->doc != NULL; o++) {
    if (o->arg == NULL || (o->flags & OPTION_ARG_OPTIONAL)) continue;
    if (o->name != NULL && strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) return 1;
    if (word[0] == '-' && word[1] == o->key && word[2] == 0) return 1;
  }
  return 0;
}

void zp_launch_train_options(const struct argp_option *own, int argc, char **argv)
{
  const char *const name = argv[0];
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] != '-' || argv[i][1] == 0 || strcmp(argv[i], "--") == 0)
      return; /* the sub-command */
    const char *word = argv[i] + 2;
    const size_t n = strcspn(word, "=");
    i += takes_next(own, argv[i]);
    if (word[-1] != '-' || n == 0 || has(own, word, n)) continue;
    int of_train = has(zp_train_argp.options, word, n);
    for (const struct argp_child *c = zp_train_argp.children; c->argp != NULL; c++)
      of_train |= has(c->argp->options, word, n);
    if (!of_train) continue;
    fprintf(stderr,
            "%s: --%.*s is an option of train: write it after the word train, as in: %s … "
            "train --%.*s …\n",
            name, (int)n, word, name, (int)n, word);
    exit(ZP_EXIT_REFUSED);
  }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  launch_args *l = state->input;
  switch (key) {
  case 'n': take_processes(l, arg, state); return 0;
  case KEY_DEADLINE:
    zp_launch_seconds(state, "--deadline", arg, 0);
    l->deadline = arg;
    return 0;
  case KEY_HOSTS: l->hosts = arg; return 0;
  case KEY_AGENT: l->agent = arg; return 0;
  case KEY_LOG: setenv(ZP_ROSTER_LOG_VARIABLE, arg, 1); return 0;
  case KEY_MPIRUN:
    if (add_words(l, arg)) argp_failure(state, ZP_EXIT_ENVIRONMENT, ENOMEM, "--mpirun");
    return 0;
  case ARGP_KEY_ARG: /* the sub-command: what follows is its own */
    l->command = state->argv + state->next - 1;
    l->n_command = state->argc - state->next + 1;
    state->next = state->argc;
    return 0;
  case ARGP_KEY_END:
    if (l->n_command == 0) argp_error(state, "name the sub-command: launch -n N train ...");
    if (l->processes == 0) argp_error(state, "say how many processes: launch -n N train ...");
    if (l->hosts != NULL && access(l->hosts, R_OK) != 0)
      argp_error(state, "--hosts %s: %s.", l->hosts, strerror(errno));
    if (l->agent != NULL && l->hosts == NULL)
      argp_error(state, "--agent starts commands on other hosts: name them with --hosts FILE.");
    if (strcmp(l->command[0], "train") != 0)
      argp_error(state, "'%s' does not run as several processes; name the sub-command train.",
                 l->command[0]);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* The words for several hosts. Keepalive: a daemon that is cut off ends, with its ranks, some time
 * after all deadlines, and mpirun notices such a daemon no sooner. */
static size_t put_hosts(launch_args *l, char **v)
{
  const double deadline = zp_mpi_deadline();
  const int idle = deadline < ZP_MPI_DEADLINE_S ? (int)ZP_MPI_DEADLINE_S
                   : deadline > 7200            ? 7200
                                                : (int)deadline;
  size_t n = 0;
  snprintf(l->idle, sizeof l->idle, "%d", idle);
  snprintf(l->interval, sizeof l->interval, "%d", idle / 3 + 1);
  char *const words[] = {"--hostfile",
                         (char *)(uintptr_t)l->hosts,
                         "--mca",
                         "oob_tcp_keepalive_time",
                         l->idle,
                         "--mca",
                         "oob_tcp_keepalive_intvl",
                         l->interval,
                         "--mca",
                         "oob_tcp_keepalive_probes",
                         "3"};
  for (; n < sizeof words / sizeof *words; n++) v[n] = words[n];
  const char *mark = getenv(ZP_ELASTIC_VARIABLE);
  if (mark != NULL) { /* daemons inherit nothing from mpirun, and ranks all from daemons */
    snprintf(l->daemon, sizeof l->daemon, "env %s=%.64s orted", ZP_ELASTIC_VARIABLE, mark);
    v[n++] = "--mca";
    v[n++] = "orte_launch_agent";
    v[n++] = l->daemon;
  }
  if (l->agent != NULL) {
    v[n++] = "--mca";
    v[n++] = "plm_rsh_agent";
    v[n++] = (char *)(uintptr_t)l->agent;
  }
  if (l->words == NULL) { /* as `places` says, whatever the environment does */
    v[n++] = "--map-by";
    v[n++] = "slot";
  }
  return n;
}

/* mpirun's argument vector, NULL-terminated; pointers into l and to constants. The array is
 * malloc'ed, NULL without memory. l->words is cut up by it. */
static char **launch_argv(launch_args *l)
{
  size_t words = 0, n = 0;
  for (const char *p = l->words; p && *p; p++) words += *p == ' ';
  char **v = calloc(FIXED_WORDS + words + (size_t)l->n_command + 2, sizeof *v);
  if (!v) return NULL;
  snprintf(l->count, sizeof l->count, "%d", l->processes);
  snprintf(l->grace, sizeof l->grace, "%d", l->hosts ? HOSTS_GRACE_S : GRACE_S);
  char *const always[] = {"mpirun", "--quiet", "-n", l->count, "--oversubscribe", "--bind-to",
                          "none",
                          /* a container may forbid one process to read another's memory */
                          "--mca", "btl_vader_single_copy_mechanism", "none", "--mca",
                          "odls_base_sigkill_timeout", l->grace, "-x", ZP_MPI_DEADLINE_VARIABLE,
                          "-x", ZP_ROSTER_VARIABLE, "-x", ZP_ROSTER_LOG_VARIABLE};
  for (size_t i = 0; i < sizeof always / sizeof *always; i++) v[n++] = always[i];
  if (l->root) v[n++] = "--allow-run-as-root";
  if (l->hosts) n += put_hosts(l, v + n);
  if (!l->remote) { /* without ssh mpirun does not even start processes here */
    v[n++] = "--mca";
    v[n++] = "plm";
    v[n++] = "isolated";
  }
  char *rest = NULL;
  char *word = l->words ? strtok_r(l->words, " ", &rest) : NULL;
  for (; word; word = strtok_r(NULL, " ", &rest)) v[n++] = word;
  v[n++] = (char *)(uintptr_t)l->program;
  for (int32_t i = 0; i < l->n_command; i++) v[n++] = l->command[i];
  return v;
}

/* The exit code for what became of mpirun (as waitpid reports it). 0, 1, 2 and 3 are the ranks'
 * own; anything else is 3, and so is a 1 when no job began or it was cancelled (began = 0): then
 * it is mpirun's own. */
static int launch_exit(int wait_status, int began)
{
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
  if (code == ZP_EXIT_GOOD) return ZP_EXIT_GOOD;
  if (code == ZP_EXIT_REFUSED || (began && code == ZP_EXIT_VERDICT)) return code;
  return ZP_EXIT_ENVIRONMENT;
}

static int report_to = -1;

void zp_launch_report_to(int fd)
{
  report_to = fd;
}

/* Writes to the supervisor how the job ended; that fails only if the supervisor has ended. how: as
 * describe_end. */
static void report(const zp_roster_result *r, const char *how)
{
  zp_launch_report report = {.lost = r->lost, .host_lost = r->host_lost};
  memcpy(report.host, r->host, sizeof report.host);
  snprintf(report.text, sizeof report.text, "%.*s", (int)sizeof report.text - 1,
           *how ? how : r->said);
  if (report_to >= 0 && write(report_to, &report, sizeof report) < 0) close(report_to);
}

/* Is a program of this name in PATH? */
static int in_path(const char *name)
{
  char file[4096];
  const char *p = getenv("PATH");
  while (p && *p) {
    const int n = (int)strcspn(p, ":");
    if (snprintf(file, sizeof file, "%.*s/%s", n, p, name) < (int)sizeof file &&
        access(file, X_OK) == 0)
      return 1;
    p += n + (p[n] == ':');
  }
  return 0;
}

/* How the job ended, if the exit code does not say it; else "". */
static void describe_end(const zp_roster_result *r, int code, char *text, size_t cap)
{
  const int number = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;
  char by[96] = "";
  *text = 0;
  if (number != 0)
    snprintf(by, sizeof by, "mpirun was ended by signal %d (%s)", number, strsignal(number));
  if (r->cancelled)
    snprintf(text, cap, "signal %d (%s) has cancelled the job", r->cancelled,
             strsignal(r->cancelled));
  else if (*r->ended && number != 0 && !r->killed) snprintf(text, cap, "%s; %s", by, r->ended);
  else if (*r->ended) snprintf(text, cap, "%s", r->ended);
  else if (number != 0) snprintf(text, cap, "%s", by);
  else if (code == ZP_EXIT_ENVIRONMENT && WEXITSTATUS(r->status) != code)
    snprintf(text, cap, "mpirun ended with %d%s", WEXITSTATUS(r->status),
             r->began ? "" : " before the job began");
}

/* The host of each rank as mpirun places them, [processes], of names in h; NULL, also as an
 * element: not known. */
static const char **places(const launch_args *l, const zp_hosts *h)
{
  int32_t rank = 0;
  if (l->hosts == NULL || l->words != NULL) return NULL;
  const char **host = calloc((size_t)l->processes, sizeof *host);
  for (int32_t i = 0; host != NULL && i < h->n; i++)
    for (int64_t k = 0; k < h->at[i].slots && rank < l->processes; k++)
      host[rank++] = h->at[i].name;
  return host;
}

/* Reads --hosts. 0, or an exit code after a message. */
static int read_hosts(const launch_args *l, zp_hosts *h)
{
  char why[512];
  int64_t slots = 0;
  if (h == NULL) {
    fprintf(stderr, "zeroproof launch: no memory for the list of hosts.\n");
    return ZP_EXIT_ENVIRONMENT;
  }
  if (zp_hosts_read(h, l->hosts, why, sizeof why) != 0) {
    fprintf(stderr, "zeroproof launch: --hosts: %s.\n", why);
    return ZP_EXIT_REFUSED;
  }
  for (int32_t i = 0; i < h->n; i++) slots += h->at[i].slots;
  if (slots >= l->processes) return 0;
  fprintf(
      stderr,
      "zeroproof launch: --hosts %s has %lld slot%s for %d ranks; raise slots=N, or lower -n.\n",
      l->hosts, (long long)slots, slots == 1 ? "" : "s", (int)l->processes);
  return ZP_EXIT_REFUSED;
}

/* Runs the job; its exit code. */
static int launch(launch_args *l)
{
  zp_roster_result r = {.lost = -1};
  char how[sizeof r.ended + 128];
  zp_hosts *hosts = l->hosts ? calloc(1, sizeof *hosts) : NULL;
  /* with words of the user mpirun places the ranks, and the list may have other words, too */
  const int refused = l->hosts && !l->words ? read_hosts(l, hosts) : 0;
  if (refused) {
    free(hosts);
    return refused;
  }
  const char **host = places(l, hosts);
  setenv(ZP_ROSTER_LOG_VARIABLE, "", 0); /* mpirun warns of a variable that is not set */
  if (l->deadline) setenv(ZP_MPI_DEADLINE_VARIABLE, l->deadline, 1);
  else setenv(ZP_MPI_DEADLINE_VARIABLE, "30", 0);
  const zp_roster_reach reach = l->hosts   ? ZP_ROSTER_HOSTS
                                : l->words ? ZP_ROSTER_UNKNOWN
                                           : ZP_ROSTER_HERE_ONLY;
  char **argv = launch_argv(l);
  const int lost = !argv || zp_roster_run(argv, l->processes, reach, host, END_S, &r);
  const int reason = errno;
  int code = lost ? ZP_EXIT_ENVIRONMENT : launch_exit(r.status, !r.cancelled && r.began);
  if (lost) snprintf(how, sizeof how, "cannot start a process: %s", strerror(reason));
  else describe_end(&r, code, how, sizeof how);
  report(&r, how);
  if (*how) fprintf(stderr, "zeroproof launch: %s\n", how);
  else if (l->hosts != NULL)
    fprintf(stderr, "zeroproof launch: the %d ranks have ended with exit code %d\n",
            (int)l->processes, code);
  if (r.output_error) {
    fprintf(stderr, "zeroproof launch: standard output could not be written: %s\n",
            strerror(r.output_error));
    if (code == ZP_EXIT_GOOD) code = ZP_EXIT_ENVIRONMENT;
  }
  free(argv);
  free(host);
  free(hosts);
  return code;
}

int zp_cmd_launch(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  static const struct argp argp = {options, parse, "train [OPTION...]", doc, NULL, NULL, NULL};
  char program[4096];
  launch_args l = {.root = geteuid() == 0};
  argp_err_exit_status = ZP_EXIT_REFUSED;
  zp_launch_train_options(options, argc, argv);
  if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &l)) return ZP_EXIT_REFUSED;
  if (!zp_mpi_library(program, sizeof program)) {
    fprintf(stderr, "zeroproof launch: this program was built without MPI; build it with Open MPI, "
                    "or run train without launch: all ranks are then in one process\n");
    free(l.words);
    return ZP_EXIT_ENVIRONMENT;
  }
  const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  if (n < 0) {
    fprintf(stderr, "zeroproof launch: cannot find its own binary: %s\n", strerror(errno));
    free(l.words);
    return ZP_EXIT_ENVIRONMENT;
  }
  program[n] = 0;
  l.program = program;
  l.remote = l.words || l.hosts || in_path("ssh") || in_path("rsh");
  const int code = launch(&l);
  free(l.words);
  return code;
}
