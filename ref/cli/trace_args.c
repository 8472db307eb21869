/* The command line of `zeroproof trace`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "options.h"
#include "trace_cli.h"

enum { KEY_OUT = 'o', KEY_RANKS = 'r', KEY_JSON = 'j', KEY_ATTEMPT = 'a', KEY_FORMAT = 'f' };
enum {
  KEY_INTERVAL = 'i',
  KEY_STALL = 's',
  KEY_COMMAND = 'c',
  KEY_ONCE = '1',
  KEY_RESTARTS = 'n',
  KEY_VALUES = 0x1400
};
enum {
  CHECK = 1 << ZP_TRACE_CHECK,
  VIEW = 1 << ZP_TRACE_VIEW,
  DUMP = 1 << ZP_TRACE_DUMP,
  WATCH = 1 << ZP_TRACE_WATCH
};
static const char *const formats[ZP_TRACE_FORMATS] = {"text", "json", "github", "junit"};

/* An option, and the sub-commands that have it. */
typedef struct option_row {
  struct argp_option option;
  int of;
} option_row;

static const option_row rows[] = {
    {{"out", KEY_OUT, "FILE", 0, "view: where to write (required)", 0}, VIEW},
    {{"ranks", KEY_RANKS, "A[-B]", 0,
      "view: these ranks (the first 64, and those that the causes concern)", 0},
     VIEW},
    {{"json", KEY_JSON, NULL, 0,
      "check: print the findings as JSON; view: print the name of the file and its ranks as JSON; "
      "dump: print the records as JSON",
      0},
     CHECK | VIEW | DUMP},
    {{"format", KEY_FORMAT, "NAME", 0,
      "check: text, json, github (annotations of a workflow) or junit (XML)", 0},
     CHECK},
    {{"interval", KEY_INTERVAL, "SECONDS", 0, "watch: time between two looks (2)", 0}, WATCH},
    {{"stall", KEY_STALL, "SECONDS", 0,
      "watch: alarm if no trace grows for this time (300). Start-up is no stall: the time begins "
      "with the first record of any rank",
      0},
     WATCH},
    {{"command", KEY_COMMAND, "COMMAND", 0,
      "watch: run this by sh at an alarm, with the sentence in ZEROPROOF_ALARM", 0},
     WATCH},
    {{"once", KEY_ONCE, NULL, 0, "watch: look once", 0}, WATCH},
    {{"restarts", KEY_RESTARTS, "N", 0,
      "watch: after an attempt that failed, wait --stall seconds for another one, N times in all "
      "(0), as torchrun --max-restarts N makes them",
      0},
     WATCH},
    {{"attempt", KEY_ATTEMPT, "N", 0, "the attempt in DIR/attempt-N, 0: DIR itself (the last one)",
      0},
     CHECK | VIEW | WATCH},
    {{"values", KEY_VALUES, "N", OPTION_HIDDEN | OPTION_ARG_OPTIONAL, NULL, 0}, 0}};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct command_row {
  const char *name, *usage, *doc;
} command_row;

#define FOLDER                                                                                     \
  "DIR has a file rank-N.zpt for each rank, as the recorders write (conformance/TRACE.md), and "   \
  "the traces of attempt N in attempt-N"
static const command_row commands[ZP_TRACE_COMMANDS] = {
    [ZP_TRACE_CHECK] =
        {"check", "DIR",
         "Judges a recorded run: do all members of a group enter the same operations in the same "
         "order? If the recorder wrote values, do they agree?\v" FOLDER
         "; or a Flight Recorder dump of PyTorch for each rank, as pickle or JSON. The first line "
         "names the rank that deviated; the lines after it are what follows from that.\n\n"
         "Exit codes: 0 consistent; 1 errors; 2 DIR has no traces; 3 no memory."},
    [ZP_TRACE_VIEW] = {"view", "DIR --out FILE",
                       "Draws a recorded run for https://ui.perfetto.dev or chrome://tracing, with "
                       "the deviation in red.\v" FOLDER ". Perfetto finds the deviation by the "
                       "category \"cause\"."},
    [ZP_TRACE_DUMP] = {"dump", "FILE",
                       "Writes one trace as text or JSON, an item per line.\vFILE is a rank-N.zpt, "
                       "or a Flight Recorder dump of PyTorch, as pickle or JSON. Times are in "
                       "milliseconds since the first record of this file (JSON: in nanoseconds)."},
    [ZP_TRACE_WATCH] = {
        "watch", "DIR",
        "Follows the traces of a running job, and gives an alarm when it stands still.\v" FOLDER
        ". DIR and its files may appear later.\n\n"
        "Exit codes: 0 all ranks have completed and the traces are consistent; 1 after an alarm: "
        "an attempt failed (and no other began, with --restarts), or no trace grows."}};

static double seconds(struct argp_state *state, const char *option, const char *text)
{
  double value = 0;
  int end = 0;
  if (sscanf(text, "%15lf%n", &value, &end) != 1 || text[end] != 0 || !(value >= 0.01) ||
      !(value <= 1e8))
    argp_error(state, "--%s %s: expected seconds, from 0.01 to 1e8.", option, text);
  return value;
}

static int32_t number(struct argp_state *state, const char *option, const char *text)
{
  int32_t value = 0;
  int end = 0;
  if (sscanf(text, "%6d%n", &value, &end) != 1 || text[end] != 0 || value < 0)
    argp_error(state, "--%s %s: expected a number from 0 to 999999.", option, text);
  return value;
}

static int format_of(struct argp_state *state, const char *text)
{
  for (int i = 0; i < ZP_TRACE_FORMATS; i++)
    if (strcmp(text, formats[i]) == 0) return i;
  argp_error(state, "--format %s: expected text, json, github or junit.", text);
  return 0;
}

/* The number of a sub-command, or -1. */
static int32_t command_of(const char *word)
{
  for (int32_t i = 0; i < ZP_TRACE_COMMANDS; i++)
    if (strcmp(word, commands[i].name) == 0) return i;
  return -1;
}

/* Refuses an option that the sub-command does not have. */
static void check_option(const zp_trace_args *a, int key, struct argp_state *state)
{
  char of[64] = "";
  if (key == KEY_VALUES)
    argp_error(state, "--values is an option of the recorder: record with `python -m "
                      "zeroproof.trace --values N` or record(DIR, values=N). check then compares "
                      "the values without an option.");
  for (size_t i = 0; i < ROWS; i++) {
    if (rows[i].option.key != key || a->what < 0 || (rows[i].of & 1 << a->what)) continue;
    for (int32_t k = 0; k < ZP_TRACE_COMMANDS; k++)
      if (rows[i].of & 1 << k)
        snprintf(of + strlen(of), sizeof of - strlen(of), "%s%s", of[0] ? ", " : "",
                 commands[k].name);
    argp_error(state, "--%s is an option of trace %s, not of trace %s.", rows[i].option.name, of,
               commands[a->what].name);
  }
}

/* One name, and what it must be. */
static void check_name(const zp_trace_args *a, struct argp_state *state)
{
  struct stat about;
  if (a->what < 0)
    argp_error(state, "expected check DIR, view DIR --out FILE, dump FILE, or watch DIR.");
  if (a->name == NULL)
    argp_error(state, "name %s.", a->what == ZP_TRACE_DUMP ? "the file" : "the folder of the run");
  if (a->what == ZP_TRACE_VIEW && a->out == NULL) argp_error(state, "view needs --out FILE.");
  if (a->watch.restarts > 0 && (a->attempt >= 0 || a->watch.once))
    argp_error(state, "--restarts waits for later attempts: leave out --%s.",
               a->watch.once ? "once" : "attempt");
  if (stat(a->name, &about) != 0) return; /* reading it reports why */
  if (a->what == ZP_TRACE_DUMP && S_ISDIR(about.st_mode))
    argp_failure(state, ZP_EXIT_REFUSED, 0,
                 "%s is a folder, and dump decodes one file: name a rank-N.zpt in it; or use "
                 "zeroproof trace check %s",
                 a->name, a->name);
  if (a->what != ZP_TRACE_DUMP && S_ISREG(about.st_mode))
    argp_failure(state, ZP_EXIT_REFUSED, 0,
                 "%s is a file, and %s reads the folder of a run: name the folder; or decode the "
                 "file with zeroproof trace dump %s",
                 a->name, commands[a->what].name, a->name);
}

static error_t take(int key, char *arg, struct argp_state *state)
{
  zp_trace_args *a = state->input;
  int end = 0;
  if (key > 0 && key <= KEY_VALUES) check_option(a, key, state);
  switch (key) {
  case KEY_OUT: a->out = arg; return 0;
  case KEY_JSON: a->format = ZP_TRACE_JSON; return 0;
  case KEY_FORMAT: a->format = format_of(state, arg); return 0;
  case KEY_INTERVAL: a->watch.interval = seconds(state, "interval", arg); return 0;
  case KEY_STALL: a->watch.stall = seconds(state, "stall", arg); return 0;
  case KEY_COMMAND: a->watch.command = arg; return 0;
  case KEY_ONCE: a->watch.once = 1; return 0;
  case KEY_RESTARTS: a->watch.restarts = number(state, "restarts", arg); return 0;
  case KEY_ATTEMPT: a->attempt = number(state, "attempt", arg); return 0;
  case KEY_RANKS:
    if (sscanf(arg, "%6d%n-%6d%n", &a->first, &end, &a->last, &end) == 1) a->last = a->first;
    if (end == 0 || arg[end] != 0 || a->first < 0 || a->last < a->first)
      argp_error(state, "--ranks %s: a rank, or two with a dash between them: 0-63.", arg);
    return 0;
  case ARGP_KEY_ARG:
    if (a->what < 0)
      argp_error(state,
                 "'%s' is no sub-command: expected check DIR, view DIR --out FILE, dump FILE, or "
                 "watch DIR.",
                 arg);
    if (state->arg_num > 0)
      argp_error(state, "unexpected argument %s; %s reads one %s", arg, commands[a->what].name,
                 a->what == ZP_TRACE_DUMP ? "file." : "folder.");
    a->name = arg;
    return 0;
  case ARGP_KEY_END: check_name(a, state); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Whether a word is an option, or the beginning of one, whose argument is the next word. */
static int takes_next(const char *word)
{
  const size_t n = strlen(word);
  if (n < 2 || word[0] != '-' || strcmp(word, "--") == 0 || strchr(word, '=') != NULL) return 0;
  for (size_t i = 0; i < ROWS; i++) {
    const struct argp_option *o = &rows[i].option;
    if (o->arg == NULL || (o->flags & OPTION_ARG_OPTIONAL)) continue;
    if (word[1] == '-' ? strncmp(word + 2, o->name, n - 2) == 0 : word[n - 1] == o->key) return 1;
  }
  return 0;
}

/* Takes the sub-command out of argv: the first word that is neither an option nor the argument of
 * one. Returns its number; -1: it is missing or unknown. */
static int32_t take_command(int *argc, char **argv)
{
  int at = 1;
  while (at < *argc && (argv[at][0] == '-' || takes_next(argv[at - 1]))) at++;
  const int32_t found = at < *argc ? command_of(argv[at]) : -1;
  if (found < 0) return -1;
  memmove(argv + at, argv + at + 1, (size_t)(*argc - at) * sizeof *argv); /* with the NULL */
  --*argc;
  return found;
}

/* "check: findings as JSON; view: the file": the part of one sub-command. */
static const char *part_of(const char *doc, int32_t what, char *text, size_t cap)
{
  char word[16];
  snprintf(word, sizeof word, "%s: ", commands[what].name);
  const char *part = strstr(doc, word);
  if (part == NULL) return doc;
  part += strlen(word);
  snprintf(text, cap, "%.*s", (int)strcspn(part, ";"), part);
  return text;
}

int zp_trace_parse(int argc, char **argv, zp_trace_args *a)
{
  static char own[32], doc[ROWS][200];
  struct argp_option options[ROWS + 1];
  struct argp argp = {
      options,
      take,
      "check DIR\nview DIR --out FILE\ndump FILE\nwatch DIR",
      "Judges a recorded run: do all members of a group enter the same operations in the same "
      "order?\v" FOLDER "; or, for check, a Flight Recorder dump of PyTorch for "
      "each rank, as pickle or JSON. "
      "check exits with 0 if the traces are consistent, or 1 if not. It names the first rank that "
      "differs, is missing, or lags behind. watch follows the traces of a running job; it exits "
      "with 0 when all ranks have completed, or with 1 after an alarm, when a rank failed or no "
      "trace grows. dump writes one trace or dump as text. `zeroproof trace check --help` lists "
      "the options of check; the others likewise.",
      NULL,
      NULL,
      NULL};
  a->what = take_command(&argc, argv);
  for (size_t i = 0; i < ROWS; i++) {
    options[i] = rows[i].option;
    if (a->what < 0) continue;
    if (rows[i].of & 1 << a->what)
      options[i].doc = part_of(options[i].doc, a->what, doc[i], sizeof doc[i]);
    else options[i].flags |= OPTION_HIDDEN;
  }
  options[ROWS] = (struct argp_option){0};
  if (a->what >= 0) {
    snprintf(own, sizeof own, "zeroproof trace %s", commands[a->what].name);
    argv[0] = own;
    argp.args_doc = commands[a->what].usage;
    argp.doc = commands[a->what].doc;
  }
  return zp_cli_parse(&argp, argc, argv, a);
}
