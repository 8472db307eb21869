/* zeroproof adapter: an engine as an adapter of the conformance suite. */
#include "../../conformance/adapters/zeroproof/adapter.h"

#include <stdio.h>

#include "commands.h"
#include "options.h"

typedef struct adapter_args {
  zp_engine_args engine;
  const char *fault;
} adapter_args;

enum { KEY_FAULT = 0x6000 };

static const struct argp_option options[] = {
    {"fault", KEY_FAULT, "NAME", 0,
     "plant a historic bug, which the suite must catch; `zeroproof sim --fault list` lists them",
     0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
  adapter_args *a = state->input;
  if (key == ARGP_KEY_INIT) state->child_inputs[0] = &a->engine;
  if (key != KEY_FAULT) return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
  a->fault = arg;
  return 0;
}

static const struct argp_child children[] = {{&zp_engine_child, 0, NULL, 0}, {NULL, 0, NULL, 0}};

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Puts an engine behind the conformance suite's adapter protocol: one JSON object a line on "
    "standard input and output.\v"
    "Use: zeroproof check --adapter 'zeroproof adapter'. The protocol: conformance/ADAPTER.md.",
    children,
    NULL,
    NULL};

/* The option that an adapter would ignore, or NULL: the suite's cases choose execution orders and
 * where optimizer states are (the options of `hello`). */
static const char *ignored(const zp_engine_args *a)
{
  return a->offload         ? "--offload"
         : a->schedules > 0 ? "--schedules"
         : a->trace != NULL ? "--trace"
         : a->svg != NULL   ? "--svg"
                            : NULL;
}

int zp_cmd_adapter(int argc, char **argv, const zp_backend *engine)
{
  adapter_args a = {.fault = NULL};
  const zp_fault *fault = NULL;
  int code = zp_cli_parse(&argp, argc, argv, &a);
  if (code == 0 && ignored(&a.engine) != NULL)
    code = zp_cli_refuse(argv[0], "%s has no effect here: each case chooses the engine's options.",
                         ignored(&a.engine));
  if (code == 0) code = zp_engine_choose(engine, &a.engine, argc, argv);
  if (code != 0) return code;
  if (a.fault != NULL) fault = zp_engine_fault(engine, argv[0], a.fault, 1);
  if (a.fault != NULL && fault == NULL) return ZP_EXIT_REFUSED;
  return zp_adapter_serve(engine, fault, stdin, stdout) ? ZP_EXIT_ENVIRONMENT : 0;
}
