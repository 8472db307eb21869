#include <stdio.h>

#include "../plan/pipeline.h"
#include "plan_draw.h"

static void print_legend(FILE *f, const zp_config *cfg)
{
  const int64_t replicas = (int64_t)cfg->dp * cfg->tp;
  fprintf(f,
          "\nPipeline schedule (1F1B): a row for each pipeline stage, a column for each time slot\n"
          "F3 is the forward of micro-batch 3, B3 its backward, · an idle slot. A stage's slots "
          "are in\n"
          "turn for a forward and for a backward; one without work stays empty.\n");
  if (replicas > 1)
    fprintf(f, "Each row holds for the %lld ranks of its stage (dp %d × tp %d).\n",
            (long long)replicas, (int)cfg->dp, (int)cfg->tp);
  fputc('\n', f);
}

/* One cell per slot of time: F0 forward, B0 backward, of micro-batch 0. */
void zp_plan_ascii(FILE *f, const zp_config *cfg, int32_t columns)
{
  const int64_t S = cfg->pp, M = cfg->micro_batches, T = zp_slots(S, M);
  const int32_t cell = M <= 10 ? 2 : M <= 100 ? 3 : M <= 1000 ? 4 : 8;
  const int64_t fits = (columns - 10) / (cell + 1), shown = T < fits ? T : fits;
  const int64_t rows = S < 32 ? S : 32;
  print_legend(f, cfg);
  for (int64_t s = 0; s < rows; s++) {
    fprintf(f, "stage %2lld ", (long long)s);
    for (int64_t t = 0; t < shown; t++) {
      const zp_slot a = zp_slot_at(S, M, s, t);
      char text[24] = "";
      if (a.mb >= 0) snprintf(text, sizeof text, "%c%lld", a.backward ? 'B' : 'F', (long long)a.mb);
      fprintf(f, " %-*s", (int)cell, a.mb >= 0 ? text : "·");
    }
    fprintf(f, "%s\n", shown < T ? "…" : "");
  }
  if (rows < S) fprintf(f, "… and %lld stages more\n", (long long)(S - rows));
  fprintf(f, "\n%lld time slots; each stage works in %lld of them (%.1f %%).\n", (long long)T,
          (long long)(2 * M), 100.0 * (double)(2 * M) / (double)T);
}
