/* The loss curve of a training run. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train.h"

static float as_float(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* gnuplot reads single-quoted strings literally but for the quote itself. */
static void quote(FILE *p, const char *s)
{
  fputc('\'', p);
  for (; *s != 0; s++) {
    if (*s == '\'') fputc('\'', p);
    fputc(*s, p);
  }
  fputc('\'', p);
}

int zp_train_plot(const zp_train_args *a, const zp_outcome *run, double entropy)
{
  FILE *f = fopen(a->plot, "w"), *p;
  int status;
  if (f == NULL) {
    fprintf(stderr, "%s: --plot %s: %m.\n", a->o.command, a->plot);
    return ZP_EXIT_ENVIRONMENT;
  }
  fclose(f);
  signal(SIGPIPE, SIG_IGN); /* a missing gnuplot is a message, not a death */
  p = popen("gnuplot 2>/dev/null", "w");
  if (p != NULL) {
    fputs("set terminal svg size 720,400 font 'sans-serif,12' background rgb 'white'\n"
          "set output ",
          p);
    quote(p, a->plot);
    fputs("\nset xlabel 'step'\nset ylabel 'loss, nats per byte'\nset grid lc rgb '#e5e7eb'\n"
          "set key top right\nset yrange [0:*]\n",
          p);
    fprintf(p,
            "plot '-' using 1:2 with lines lw 2 lc rgb '#2563eb' title 'loss', %.6f lw 1.5 dt 2 "
            "lc rgb '#6b7280' title 'byte-unigram entropy'\n",
            entropy);
    for (int64_t i = 0; i < run->steps; i++)
      fprintf(p, "%" PRId64 " %.6f\n", run->first + i, (double)as_float(run->result[i].loss));
    fputs("e\n", p);
  }
  status = p == NULL ? -1 : pclose(p);
  if (status != 0) {
    fprintf(stderr,
            "%s: --plot: gnuplot failed or is not installed (apt-get install "
            "gnuplot-nox).\n",
            a->o.command);
    return ZP_EXIT_ENVIRONMENT;
  }
  return 0;
}
