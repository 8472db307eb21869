#define _GNU_SOURCE
#include "engine_option.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/child.h"
#include "../verify/clause_title.h"
#include "commands.h"
#include "options.h"

#define ON_A_DEVICE "zeroproof-cuda"
#define CALLS_UNDER_TSAN "zeroproof-api-cuda-tsan"

enum { KEY_ENGINE = 0x5000, KEY_TSAN, KEY_OFFLOAD, KEY_SCHEDULES, KEY_TRACE, KEY_SVG };

/* ---- Options --------------------------------------------------------------------------------- */

static const struct argp_option options[] = {
    {NULL, 0, NULL, 0, "Engine:", 9},
    {"engine", KEY_ENGINE, "ref|cuda|api|api-cuda", 0,
     "ref: on the CPU (default); cuda: the CUDA engine, against ref, on a simulated device or, "
     "with train, on a GPU; fuzz only, the functions of engine.h: api: of the reference, api-cuda: "
     "of the CUDA engine on a simulated device",
     9},
    {"tsan", KEY_TSAN, NULL, 0, "cuda, api-cuda: in the build that reports every race (TSan)", 9},
    {"offload", KEY_OFFLOAD, NULL, 0,
     "cuda: masters and moments in host memory, updated by the host (without it, fuzz does so in "
     "some "
     "execution orders)",
     9},
    {"schedules", KEY_SCHEDULES, "N", 0, "cuda: execution orders that a case is run in", 9},
    {"trace", KEY_TRACE, "FILE", 0, "cuda: write a timeline of the run for Perfetto", 9},
    {"svg", KEY_SVG, "FILE", 0, "cuda: draw the timeline", 9},
    {0}};

/* The program of an engine whose public functions fuzz calls; NULL: of another one. */
static const char *program_of_calls(const char *engine, int32_t tsan)
{
  if (strcmp(engine, "api") == 0) return "zeroproof-api";
  if (strcmp(engine, "api-cuda") != 0) return NULL;
  return tsan ? CALLS_UNDER_TSAN : "zeroproof-api-cuda";
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  zp_engine_args *a = state->input;
  int64_t v = 0;
  switch (key) {
  case KEY_ENGINE:
    if (strcmp(arg, "ref") != 0 && strcmp(arg, "cuda") != 0 && program_of_calls(arg, 0) == NULL)
      argp_error(state, "--engine: '%s' is not one of: ref cuda api api-cuda.", arg);
    a->name = arg;
    return 0;
  case KEY_TSAN: a->tsan = 1; return 0;
  case KEY_OFFLOAD: a->offload = 1; return 0;
  case KEY_TRACE: a->trace = arg; return 0;
  case KEY_SVG: a->svg = arg; return 0;
  case KEY_SCHEDULES:
    if (zp_parse_count(arg, &v) != 0 || v < 1 || v > 1 << 24)
      argp_error(state, "--schedules: '%s' is not a whole number from 1 to 16Mi.", arg);
    a->schedules = (int32_t)v;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp zp_engine_child = {options, parse, NULL, NULL, NULL, NULL, NULL};

/* ---- Choosing -------------------------------------------------------------------------------- */

static const char headers[] = "CUDA's and NCCL's headers, no GPU";
static const zp_known_engine known[] = {
    {"ref", "zeroproof", "all", "MPI"},
    {"api", "zeroproof-api", "api-command", "MPI"},
    {"api-cuda", "zeroproof-api-cuda", "simdev-command", headers},
    {"api-cuda --tsan", CALLS_UNDER_TSAN, "simdev-command", headers},
    {"cuda", "zeroproof-simdev", "simdev-command", headers},
    {"cuda --tsan", "zeroproof-simdev-tsan", "simdev-command", headers},
    {"cuda counters", "zeroproof-simdev-counters", "simdev-command", headers},
    {"cuda --device gpu", "zeroproof-cuda", "gpu-command", "nvcc, and a GPU to run on"},
    {NULL, NULL, NULL, NULL},
};

const zp_known_engine *zp_engines_known(void)
{
  return known;
}

int zp_program_beside(const char *program, char *file, int64_t cap)
{
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  char *slash;
  if (n < 0) return -1;
  self[n] = 0;
  slash = strrchr(self, '/');
  if (slash == NULL) return -1;
  slash[1] = 0;
  if (snprintf(file, (size_t)cap, "%s%s", self, program) >= cap) return -1;
  return access(file, X_OK);
}

int zp_engine_hand_over(const char *program, int argc, char **argv)
{
  char file[4096];
  char *sub = strchr(argv[0], ' '); /* "zeroproof fuzz" */
  char **words = calloc((size_t)argc + 2, sizeof *words);
  int64_t n = 0;
  if (words == NULL || sub == NULL) return ZP_EXIT_ENVIRONMENT;
  if (zp_program_beside(program, file, sizeof file) != 0) {
    const zp_known_engine *k = known;
    while (strcmp(k->program, program) != 0) k++;
    fprintf(stderr,
            "%s: the program %s is not beside this one; run `make %s`, which builds it "
            "(it needs %s).\n",
            argv[0], program, k->make, k->needs);
    free(words);
    return ZP_EXIT_ENVIRONMENT;
  }
  words[n++] = file;
  words[n++] = sub + 1;
  for (int i = 1; i < argc; i++) words[n++] = argv[i];
  fflush(NULL);
  execv(file, words);
  fprintf(stderr, "%s: %s could not be started: %s\n", argv[0], file, strerror(errno));
  free(words);
  return ZP_EXIT_ENVIRONMENT;
}

/* The program for a device says that there is one. */
static int device_is_here(void)
{
  char file[4096];
  char *words[] = {file, "--device", NULL};
  zp_child c;
  if (zp_program_beside(ON_A_DEVICE, file, sizeof file) != 0) return 0;
  /* a driver that hangs counts as absent */
  return zp_child_open(&c, words, -1, 60) == 0 && zp_child_read_line(&c, NULL, 0) == 0;
}

/* The program of the engine cuda: this one, unless the arguments name another one. */
static const char *program_of(const zp_backend *here, const zp_engine_args *a)
{
  /* the program under ThreadSanitizer needs no --tsan */
  if (a->tsan || strcmp(here->program, "zeroproof-simdev-tsan") == 0)
    return "zeroproof-simdev-tsan";
  if (a->device == ZP_DEVICE_GPU) return ON_A_DEVICE;
  if (a->device != ZP_DEVICE_AUTO) return "zeroproof-simdev";
  if (here->train != NULL) return here->program;
  return device_is_here() ? ON_A_DEVICE : "zeroproof-simdev";
}

int zp_engine_choose(const zp_backend *here, const zp_engine_args *a, int argc, char **argv)
{
  /* a program with one engine needs no --engine */
  const char *name = a->name != NULL ? a->name : here->name;
  const char *program = "zeroproof";
  const int races = strcmp(name, "api-cuda") == 0; /* what it has of cuda's options */
  const char *cudas = a->tsan && !races            ? "--tsan"
                      : a->offload                 ? "--offload"
                      : a->schedules > 0           ? "--schedules"
                      : a->trace != NULL           ? "--trace"
                      : a->svg != NULL             ? "--svg"
                      : a->device > ZP_DEVICE_AUTO ? "--device"
                      : a->gemm != ZP_GEMM_DEFAULT ? "--products"
                                                   : NULL;
  /* the program under ThreadSanitizer needs no --tsan */
  const int32_t tsan = a->tsan || strcmp(here->program, CALLS_UNDER_TSAN) == 0;
  const char *calls = program_of_calls(name, tsan);
  if (calls != NULL) program = calls;
  if (calls != NULL && strcmp(argv[0], "zeroproof fuzz") != 0)
    return zp_cli_refuse(argv[0], "--engine %s is for `zeroproof fuzz`.", name);
  if (strcmp(name, "cuda") != 0 && cudas != NULL)
    return zp_cli_refuse(argv[0], "%s is for --engine cuda%s.", cudas,
                         a->tsan && !races ? " or --engine api-cuda" : "");
  if (a->tsan && a->device == ZP_DEVICE_GPU)
    return zp_cli_refuse(argv[0], "--tsan sees a simulated device only; leave out --device gpu.");
  if (strcmp(name, "cuda") == 0) program = program_of(here, a);
  return strcmp(program, here->program) == 0 ? 0 : zp_engine_hand_over(program, argc, argv);
}

const zp_fault *zp_engine_fault(const zp_backend *e, const char *command, const char *name,
                                int adapter)
{
  const zp_fault *f = e->fault_find(name);
  const char *why = NULL;
  if (f == NULL && e->own_cases) { /* sim does not run them */
    fprintf(stderr, "%s: --fault: there is no fault '%s' for the engine %s, which has ", command,
            name, e->name);
    for (int32_t i = 0; i < e->fault_count(); i++)
      fprintf(stderr, "%s%s", i > 0 ? ", " : "", e->fault_at(i)->name);
    fputs(".\n", stderr);
  } else if (f == NULL)
    fprintf(stderr,
            "%s: --fault: there is no fault '%s' for the engine %s; `zeroproof sim --engine %s "
            "--fault list` lists them.\n",
            command, name, e->name, e->name);
  else if (e->fault_hidden != NULL) why = e->fault_hidden(f, adapter);
  if (why == NULL) return f;
  fprintf(stderr, "%s: --fault: this run cannot show '%s': %s.\n", command, name, why);
  return NULL;
}

int zp_engine_supports(const zp_backend *e, const char *command, const zp_case *c)
{
  const uint32_t bits = e->unsupported_in(c);
  if (c->schedule != 0 && e->schedules == 0) {
    fprintf(stderr, "%s: the case names a schedule, which is for --engine cuda.\n", command);
    return ZP_EXIT_REFUSED;
  }
  for (int32_t i = 0; i < e->unsupported_count; i++) {
    if ((bits >> i & 1u) == 0) continue;
    fprintf(stderr, "%s: the engine %s does not support this yet: %s.\n", command, e->name,
            e->unsupported[i]);
    return ZP_EXIT_REFUSED;
  }
  return 0;
}

void zp_print_timeline(const zp_case *c, const zp_verdict *v)
{
  if (v->drawn < 0) return;
  printf("the timeline of schedule %lld:", (long long)v->drawn);
  if (c->trace != NULL) printf(" %s (for ui.perfetto.dev)", c->trace);
  if (c->svg != NULL) printf(" %s", c->svg);
  printf("\n");
}

int zp_verdict_code(const char *command, const zp_verdict *v)
{
  fflush(stdout);
  if (v->undrawn[0] != 0) fprintf(stderr, "%s: %s\n", command, v->undrawn);
  if (v->failed) return ZP_EXIT_VERDICT;
  return v->undrawn[0] != 0 ? ZP_EXIT_ENVIRONMENT : ZP_EXIT_GOOD;
}

void zp_print_clause(const char *clause)
{
  const char *title = zp_clause_title(clause);
  if (title != NULL) printf("%s (%s)", clause, title);
  else printf("%s", clause);
}

void zp_print_clauses(const zp_verdict *v)
{
  for (int32_t i = 0; i < v->n_clauses; i++) {
    if (i > 0) printf(", ");
    zp_print_clause(v->clause[i]);
  }
}

void zp_print_orders(int64_t orders, int64_t distinct, int64_t offloads, int64_t partials,
                     int64_t checked)
{
  printf("%lld execution%s in %lld different orders of streams and host threads; %lld "
         "with optimizer states in host memory, %lld with gathers beside forward;\n  the "
         "happens-before check examined %lld executions: "
         "each respects "
         "the order that the plan requires\n",
         (long long)orders, orders == 1 ? "" : "s", (long long)distinct, (long long)offloads,
         (long long)partials, (long long)checked);
}
