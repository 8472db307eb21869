/* The loss curve of a training run. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../draw/gnuplot.h"
#include "train.h"

/* gnuplot takes about 5 s of processor time for a curve of a million steps, the most. */
enum { GNUPLOT_SECONDS = 60 };

static float as_float(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

int zp_train_plot(const zp_train_args *a, const zp_outcome *run, double entropy)
{
  zp_error err = {0};
  char *script = NULL;
  size_t n = 0;
  FILE *p = open_memstream(&script, &n);
  if (p == NULL) return ZP_EXIT_ENVIRONMENT;
  fprintf(p,
          "set terminal svg size 720,400 font 'sans-serif,12' background rgb 'white'\n"
          "set xlabel 'step'\nset ylabel 'loss, nats per byte'\nset grid lc rgb '#e5e7eb'\n"
          "set key top right\nset yrange [0:*]\n"
          "plot '-' using 1:2 with lines lw 2 lc rgb '#2563eb' title 'loss', %.6f lw 1.5 dt 2 "
          "lc rgb '#6b7280' title 'byte-unigram entropy'\n",
          entropy);
  for (int64_t i = 0; i < run->steps; i++)
    fprintf(p, "%" PRId64 " %.6f\n", run->first + i, (double)as_float(run->result[i].loss));
  fputs("e\n", p);
  if (fclose(p) == 0) zp_gnuplot(script, n, a->plot, GNUPLOT_SECONDS, &err);
  else zp_fail(&err, ZP_E_MEMORY, -1, "no memory for the curve");
  free(script);
  if (err.status != 0) fprintf(stderr, "%s: --plot: %s.\n", a->o.command, err.text);
  return zp_exit_of(err.status);
}
