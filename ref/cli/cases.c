/* zeroproof cases, zeroproof oracle: the conformance suite's inputs, and what is right. */
#define _GNU_SOURCE
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../conformance/cases/cases.h"
#include "../verify/regular_file.h"
#include "commands.h"
#include "options.h"

enum { KEY_RANDOM = 0x5000, KEY_SEED };

typedef struct cases_args {
  const char **recipe; /* [n] */
  int32_t n;
  int64_t random;
  uint64_t seed;
} cases_args;

/* One JSON document a line; 0, or the exit code of output that cannot be written. */
static int print(json_t *what)
{
  const int bad = json_dumpf(what, stdout, JSON_COMPACT | JSON_ENSURE_ASCII) || puts("") < 0;
  json_decref(what);
  if (fflush(stdout) == 0 && !bad) return 0;
  fprintf(stderr, "zeroproof: standard output could not be written: %m\n");
  return ZP_EXIT_ENVIRONMENT;
}

static int print_random(const cases_args *a)
{
  int code = 0;
  int64_t made = 0;
  for (uint64_t i = 0; made < a->random && code == 0; i++) {
    char text[ZP_CONF_TEXT];
    zp_conf_random_recipe(a->seed, i, text, sizeof text);
    json_t *one = zp_conf_case(text);
    if (json_object_get(one, "refused") != NULL) {
      json_decref(one); /* another one comes */
      continue;
    }
    made++;
    code = print(one);
  }
  return code;
}

static int print_stdin(int (*line_of)(char *line, int64_t number, int *refused))
{
  int refused = 0, code = 0;
  char *line = NULL;
  size_t cap = 0;
  ssize_t n;
  for (int64_t number = 1; code == 0 && (n = getline(&line, &cap, stdin)) >= 0; number++) {
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
    if (n > 0) code = line_of(line, number, &refused);
  }
  free(line);
  return code != 0 ? code : refused;
}

/* A recipe that makes no case is answered as refused: the next line is tried. */
static int print_recipe(char *line, int64_t number, int *refused)
{
  (void)number, (void)refused;
  return print(zp_conf_case(line));
}

/* A recipe of the command line that makes no case is refused input. */
static int print_argument(const char *recipe)
{
  json_t *one = zp_conf_case(recipe);
  const char *why = json_string_value(json_object_get(one, "refused"));
  if (why != NULL) fprintf(stderr, "zeroproof cases: '%s': %s\n", recipe, why);
  const int refused = why != NULL ? ZP_EXIT_REFUSED : 0, code = print(one);
  return code != 0 ? code : refused;
}

static error_t parse_cases(int key, char *arg, struct argp_state *state)
{
  cases_args *a = state->input;
  int64_t v = 0;
  switch (key) {
  case KEY_RANDOM:
  case KEY_SEED:
    if (zp_parse_count(arg, &v) != 0 || v < 0)
      argp_error(state, "'%s' is not a whole number.", arg);
    if (key == KEY_RANDOM) a->random = v;
    else a->seed = (uint64_t)v;
    return 0;
  case ARGP_KEY_ARGS:
    a->recipe = (const char **)(void *)(state->argv + state->next);
    a->n = state->argc - state->next;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option cases_options[] = {
    {"random", KEY_RANDOM, "N", 0, "N cases by chance", 0},
    {"seed", KEY_SEED, "N", 0, "other random cases (1)", 0},
    {0}};

static const struct argp cases_argp = {
    cases_options,
    parse_cases,
    "[RECIPE...]",
    "Prints conformance cases, one JSON document a line: of the recipes given, of one recipe a "
    "line "
    "on standard input, or by chance.\v"
    "A case holds everything that an implementation needs: parameters, their first values, the "
    "gradient of every micro-batch, optimizers, clipping, loss scale. Each was proven: no sum of "
    "its contributions, in any order, divided before or after, rounds. A recipe for which that is "
    "not so is answered with {\"recipe\", \"refused\"}.",
    NULL,
    NULL,
    NULL};

int zp_cmd_cases(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  cases_args a = {NULL, 0, 0, 1};
  int code = zp_cli_parse(&cases_argp, argc, argv, &a);
  for (int32_t i = 0; code == 0 && i < a.n; i++) code = print_argument(a.recipe[i]);
  if (code == 0 && a.random > 0) code = print_random(&a);
  if (code == 0 && a.random == 0 && a.n == 0) code = print_stdin(print_recipe);
  return code;
}

/* ---- Oracle ---------------------------------------------------------------------------------- */

/* A line that is not a case is answered as refused, and the lines after it are answered. */
static int print_expected(char *line, int64_t number, int *refused)
{
  json_t *from = json_loads(line, 0, NULL), *out = zp_conf_expected(from);
  const char *why = json_string_value(json_object_get(out, "refused"));
  json_decref(from);
  if (why != NULL) *refused = ZP_EXIT_REFUSED;
  if (why != NULL) fprintf(stderr, "zeroproof oracle: line %lld: %s\n", (long long)number, why);
  return print(out);
}

static error_t parse_oracle(int key, char *arg, struct argp_state *state)
{
  const char **file = state->input;
  if (key != ARGP_KEY_ARG || *file != NULL) return ARGP_ERR_UNKNOWN;
  *file = arg;
  return 0;
}

static const struct argp oracle_argp = {
    NULL,
    parse_oracle,
    "[CASE.json]",
    "Prints what serial training makes of a conformance case, step by step.\v"
    "Without a file, cases are read from standard input, one JSON document a line, and answered in "
    "the same way.",
    NULL,
    NULL,
    NULL};

int zp_cmd_oracle(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  const char *file = NULL;
  json_error_t err;
  int regular = 1;
  FILE *f;
  json_t *from;
  int code = zp_cli_parse(&oracle_argp, argc, argv, &file);
  if (code != 0 || file == NULL) return code != 0 ? code : print_stdin(print_expected);
  f = zp_open_regular(file, &regular);
  if (f == NULL) {
    fprintf(stderr, "zeroproof oracle: %s cannot be read: %s\n", file,
            regular ? strerror(errno) : "it is not a regular file");
    return ZP_EXIT_REFUSED;
  }
  from = json_loadf(f, 0, &err);
  fclose(f);
  json_t *out = zp_conf_expected(from);
  json_decref(from);
  if (json_object_get(out, "refused") != NULL) {
    fprintf(stderr, "zeroproof oracle: %s: %s\n", file,
            json_string_value(json_object_get(out, "refused")));
    json_decref(out);
    return ZP_EXIT_REFUSED;
  }
  return print(out);
}
