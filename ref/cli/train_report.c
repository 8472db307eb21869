/* What a training run leaves for people: a sample of text, a loss curve. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../num/half.h"
#include "train.h"

static float value_of(const zp_snapshot *s, int32_t precision, int64_t i)
{
  uint32_t bits;
  uint16_t half;
  float x;
  if (precision == ZP_F32) {
    memcpy(&bits, s->param + 4 * i, sizeof bits);
  } else {
    memcpy(&half, s->param + 2 * i, sizeof half);
    bits = precision == ZP_BF16 ? zp_f32_from_bf16(half) : zp_f32_from_f16(half);
  }
  memcpy(&x, &bits, sizeof x);
  return x;
}

char *zp_train_sample(const zp_train_args *a, const zp_snapshot *end, int32_t precision,
                      const zp_text *text)
{
  const int32_t prompt = text->n < 16 ? (int32_t)text->n : 16, n = prompt + a->sample;
  float *values = calloc((size_t)end->elements + 1, sizeof *values);
  const float **params = calloc((size_t)end->entries + 1, sizeof *params);
  char *out = calloc((size_t)n + 1, 1);
  if (values == NULL || params == NULL || out == NULL) goto fail;
  for (int64_t i = 0; i < end->elements; i++) values[i] = value_of(end, precision, i);
  for (int32_t j = 0; j < end->entries; j++) params[j] = values + end->at[j];
  memcpy(out, text->bytes, (size_t)prompt);
  if (zp_gpt_sample(&a->shape, params, text->bytes, prompt, 0.7f, (uint64_t)a->o.value[ZP_OPT_SEED],
                    (uint8_t *)out + prompt, a->sample) != 0)
    goto fail;
  for (int32_t i = 0; i < n; i++)
    if (out[i] != '\n' && ((unsigned char)out[i] < 32 || (unsigned char)out[i] > 126)) out[i] = '?';
  free(values);
  free(params);
  return out;
fail:
  free(values);
  free(params);
  free(out);
  return NULL;
}

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
