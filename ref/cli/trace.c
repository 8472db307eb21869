/* zeroproof trace: judges, or draws, what a run of any program recorded. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "options.h"
#include "trace.h"

enum { KEY_OUT = 'o', KEY_RANKS = 'r', KEY_JSON = 'j' };

typedef struct args {
  const char *what, *dir, *out;
  int32_t first, last, json;
} args;

static const struct argp_option choices[] = {
    {"out", KEY_OUT, "FILE", 0, "view: where to write", 0},
    {"ranks", KEY_RANKS, "A[-B]", 0, "view: these ranks (the first 64)", 0},
    {"json", KEY_JSON, NULL, 0, "check: findings as JSON", 0},
    {0}};

static error_t take(int key, char *arg, struct argp_state *state)
{
  args *a = state->input;
  char *end;
  switch (key) {
  case KEY_OUT: a->out = arg; return 0;
  case KEY_JSON: a->json = 1; return 0;
  case KEY_RANKS:
    a->first = (int32_t)strtol(arg, &end, 10);
    a->last = a->first;
    if (end != arg && *end == '-') a->last = (int32_t)strtol(end + 1, &end, 10);
    if (*end || end == arg || a->first < 0 || a->last < a->first)
      argp_error(state, "--ranks %s: a rank, or two with a dash between them: 0-63.", arg);
    return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num == 0) a->what = arg;
    else if (state->arg_num == 1) a->dir = arg;
    else argp_error(state, "one folder at a time: what is %s?", arg);
    return 0;
  case ARGP_KEY_END:
    if (a->dir == NULL || (strcmp(a->what, "check") != 0 && strcmp(a->what, "view") != 0))
      argp_error(state, "say what to do with which folder: check DIR, or view DIR --out FILE.");
    if (strcmp(a->what, "view") == 0 && a->out == NULL) argp_error(state, "view needs --out FILE.");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

int zp_cmd_trace(int argc, char **argv, const zp_engine *engine)
{
  (void)engine;
  static const struct argp argp = {
      choices,
      take,
      "check DIR\nview DIR --out FILE",
      "Judges a recorded run: do the operations of each group fit, in order, on all members?\v"
      "DIR has a file rank-N.zpt for each rank, as the recorders write (conformance/TRACE.md). "
      "check ends with 0 when all fits, 1 when something does not, and tells which rank is the "
      "first that differs, is missing, or is behind.",
      NULL,
      NULL,
      NULL};
  args a = {.last = 63};
  const int code = zp_cli_parse(&argp, argc, argv, &a);
  if (code) return code;
  if (strcmp(a.what, "view") == 0) return zp_trace_view(a.dir, a.out, a.first, a.last);
  return zp_trace_check(a.dir, a.json);
}
