/* The parts of `zeroproof trace`. */
#ifndef ZP_CLI_TRACE_CLI_H
#define ZP_CLI_TRACE_CLI_H

#include "../trace/trace.h"

/* A cause with its step and phase: "step 3, backward: rank 2 ...", and of an alternative that it is
 * one. */
void zp_trace_sentence(const zp_trace_cause *c, char *text, size_t cap);
/* "consequence: ", "warning: " or "", what precedes the text of a finding. */
const char *zp_trace_mark(const zp_trace_finding *f);
/* Why a run with findings of a kind is not judged, or only in part; NULL: the kind is another
 * one. */
const char *zp_trace_unread(const char *kind);
/* Errors as annotations of GitHub's workflows, each at the line of its call. */
void zp_trace_print_github(const zp_trace_verdict *v, const zp_trace_attempt *of);
/* A JUnit report: a test for each rank, and one for the run. */
void zp_trace_print_junit(const zp_trace_verdict *v, const zp_trace_attempt *of);

enum { ZP_TRACE_CHECK, ZP_TRACE_VIEW, ZP_TRACE_DUMP, ZP_TRACE_WATCH, ZP_TRACE_COMMANDS };
enum { ZP_TRACE_TEXT, ZP_TRACE_JSON, ZP_TRACE_GITHUB, ZP_TRACE_JUNIT, ZP_TRACE_FORMATS };

typedef struct zp_watch_options {
  const char *dir, *command; /* command: NULL, or for a shell */
  double interval, stall;    /* s */
  int32_t attempt, once;     /* attempt -1: the last one */
  int32_t restarts;          /* that many attempts may follow the first one */
} zp_watch_options;
typedef struct zp_trace_args {
  const char *name, *out;    /* name: of the folder; of the file, for dump */
  int32_t what, first, last; /* what: ZP_TRACE_CHECK …; last -1: --ranks is not set */
  int32_t format, attempt;   /* attempt -1: the last one */
  zp_watch_options watch;
} zp_trace_args;
/* trace_args.c: returns 0, or an exit code after a message. */
int zp_trace_parse(int argc, char **argv, zp_trace_args *a);
/* Returns the exit code. */
int zp_trace_watch(const zp_watch_options *o);

#endif
