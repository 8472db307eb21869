/* Run-time support, not instrumented itself: reports a false annotation or test assertion, and
 * counts the evaluated annotations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e_acsl.h"
#include "libc.h"

enum { MOST = 8192 }; /* clauses: far more than one test has */

static unsigned long checked, asserted;
static struct clause {
  const char *function, *kind, *name;
} seen[MOST]; /* by hash of the addresses of function and name */

/* Records the evaluated clauses. The program's strings are constants, so their addresses identify
 * them. */
static void remember(const char *function, const char *kind, const char *name)
{
  unsigned long at =
      ((unsigned long)function * 31 + (unsigned long)name * 7 + (unsigned long)kind) % MOST;
  if (!name) return;
  for (int n = 0; n < MOST; n++, at = (at + 1) % MOST) {
    struct clause *c = &seen[at];
    if (c->function == function && c->name == name && c->kind == kind) return;
    if (c->function) continue;
    *c = (struct clause){function, kind, name};
    return;
  }
}

/* The instrumented program calls this for each evaluation of an annotation. */
void __e_acsl_assert(int predicate, __e_acsl_assert_data_t *data)
{
  checked++;
  remember(data->fct, data->kind, data->name);
  if (predicate) return;
  fprintf(stderr, "%s:%d: %s: %s %s false: %s\n", data->file, data->line, data->fct, data->kind,
          data->name ? data->name : "(no name)", data->pred_txt);
  exit(1);
}

void zp_eacsl_check(int holds, const char *text, const char *file, int line)
{
  asserted++;
  if (holds) return;
  fprintf(stderr, "%s:%d: assertion of the test: %s\n", file, line, text);
  exit(1);
}

/* The definitions of isnan and similar macros in Frama-C's math.h. */
int __fc_fpclassifyf(float x)
{
  return __builtin_fpclassify(0, 1, 4, 3, 2, x);
}

int __fc_fpclassify(double x)
{
  return __builtin_fpclassify(0, 1, 4, 3, 2, x);
}

/* E-ACSL has already freed its heap, and stdio would allocate from it. */
static void say(const char *format, const char *a, const char *b, const char *c)
{
  char text[512];
  const int n = snprintf(text, sizeof text, format, a, b, c);
  if (n > 0 && write(1, text, strlen(text)) < 0) _exit(1);
}

__attribute__((destructor)) static void tell(void)
{
  char text[96];
  for (int i = 0; i < MOST; i++)
    if (seen[i].function) say("  %s: %s %s\n", seen[i].function, seen[i].kind, seen[i].name);
  snprintf(text, sizeof text, "%lu annotations and %lu assertions evaluated", checked, asserted);
  say("%s%s%s\n", text, "", "");
}
