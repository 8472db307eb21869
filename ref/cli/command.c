/* Picks a sub-command and hands over. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "../base/process.h"
#include "../engine/build_info.h"
#include "commands.h"
#include "options.h"

typedef struct command {
  const char *name, *full; /* full: argv[0] of the sub-command, which argp prints */
  int (*run)(int argc, char **argv, const zp_backend *engine);
  const char *what;
} command;

static const command commands[] = {
    {"train", "zeroproof train", zp_cmd_train,
     "train a transformer on text; --verify compares bits"},
    {"plan", "zeroproof plan", zp_cmd_plan, "print, draw or check the programs of all ranks"},
    {"counters", "zeroproof counters", zp_cmd_counters,
     "memory, traffic and launches of the CUDA engine, counted"},
    {"sim", "zeroproof sim", zp_cmd_sim,
     "simulate all ranks in one process; --fault injects a bug"},
    {"fuzz", "zeroproof fuzz", zp_cmd_fuzz, "random configurations, simulated and compared"},
    {"env", "zeroproof env", zp_cmd_env, "print versions and environment for a bug report"},
    {"cases", "zeroproof cases", zp_cmd_cases, "print conformance cases, from a recipe or random"},
    {"oracle", "zeroproof oracle", zp_cmd_oracle,
     "print the values that serial training gives for a case"},
    {"adapter", "zeroproof adapter", zp_cmd_adapter,
     "run zeroproof's engine as a subject of the suite"},
    {"check", "zeroproof check", zp_cmd_check, "run the conformance suite on an implementation"},
    {"explain", "zeroproof explain", zp_cmd_explain,
     "print what a clause demands, and bugs that broke it"},
    {"report", "zeroproof report", zp_cmd_report, "write a bug report for a subject's maintainer"},
    {"trace", "zeroproof trace", zp_cmd_trace, "check or draw the recorded run of any program"},
    {"launch", "zeroproof launch", zp_cmd_launch,
     "run a sub-command under MPI: launch -n 6 train …"},
    {"elastic", "zeroproof elastic", zp_cmd_elastic,
     "launch, and restart from the last checkpoint when a rank is lost"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void usage(FILE *f)
{
  fputs("Usage: zeroproof COMMAND [OPTION...]\n"
        "Checks that distributed training computes the right thing.\n\n",
        f);
  for (int i = 0; i < COMMANDS; i++) fprintf(f, "  %-8s %s\n", commands[i].name, commands[i].what);
  fputs("  help     this text; `help COMMAND` is `COMMAND --help`\n\n"
        "  --help, --version\n\n"
        "Exit codes: 0 success; 1 a check failed;\n"
        "  2 invalid input: an option, a configuration, or a file or checkpoint that is\n"
        "    missing, damaged or not zeroproof's;\n"
        "  3 the environment failed: disk full or output not writable, no memory, mpirun or\n"
        "    gnuplot missing, a process that ended unexpectedly.\n",
        f);
}

static const command *find(const char *name)
{
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0) return &commands[i];
  return NULL;
}

int zp_main(int argc, char **argv, const zp_backend *engine)
{
  const command *c;
  char *help[4] = {NULL};
  static char name[32], flag[] = "--help";
  argp_err_exit_status = ZP_EXIT_REFUSED;
  zp_process_begin(ZP_EXIT_ENVIRONMENT);
  if (argc < 2) {
    usage(stderr);
    return ZP_EXIT_REFUSED;
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    const zp_build_info info = zp_build();
    printf("zeroproof %s\ncommit    %s\nclaims    %s\n", info.version, info.commit, info.claims);
    return ZP_EXIT_GOOD;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
      (strcmp(argv[1], "help") == 0 && argc == 2)) {
    usage(stdout);
    return ZP_EXIT_GOOD;
  }
  const int is_help = strcmp(argv[1], "help") == 0;
  c = find(argv[is_help ? 2 : 1]);
  if (c == NULL) {
    fprintf(stderr, "zeroproof: there is no command '%s'. `zeroproof help` lists them.\n",
            argv[is_help ? 2 : 1]);
    return ZP_EXIT_REFUSED;
  }
  snprintf(name, sizeof name, "%s", c->full);
  if (is_help) {
    help[0] = name;
    help[1] = flag;
    help[2] = argc > 3 ? argv[3] : NULL; /* a sub-command of `trace` */
    return c->run(argc > 3 ? 3 : 2, help, engine);
  }
  argv[1] = name;
  return c->run(argc - 1, argv + 1, engine);
}
