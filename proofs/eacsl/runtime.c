/* Not instrumented: what happens when an annotation or an assertion of a test is false, and a count
 * of the annotations that were evaluated. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "e_acsl.h"
#include "libc.h"

static unsigned long checked, asserted;

/* Called by the instrumented program for each evaluation of an annotation. */
void __e_acsl_assert(int predicate, __e_acsl_assert_data_t *data)
{
  checked++;
  if (predicate) return;
  fprintf(stderr, "%s:%d: %s: %s false: %s\n", data->file, data->line, data->fct, data->kind,
          data->pred_txt);
  exit(1);
}

void zp_eacsl_check(int holds, const char *text, const char *file, int line)
{
  asserted++;
  if (holds) return;
  fprintf(stderr, "%s:%d: assertion of the test: %s\n", file, line, text);
  exit(1);
}

/* What isnan and its like are in Frama-C's math.h. */
int __fc_fpclassifyf(float x)
{
  return __builtin_fpclassify(0, 1, 4, 3, 2, x);
}

int __fc_fpclassify(double x)
{
  return __builtin_fpclassify(0, 1, 4, 3, 2, x);
}

/* E-ACSL has given its heap back by now, and stdio would ask for some. */
__attribute__((destructor)) static void tell(void)
{
  char text[96];
  const int n = snprintf(text, sizeof text, "%lu annotations and %lu assertions evaluated\n", checked,
                         asserted);
  if (n > 0 && write(1, text, (size_t)n) != n) _exit(1);
}
