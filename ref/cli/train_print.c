/* What `zeroproof train` prints: for people, or as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "train_session.h"

static double as_double(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double loss_of(const zp_step_result *r)
{
  float x;
  memcpy(&x, &r->loss, sizeof x);
  return (double)x;
}

/* Of a word's plural. */
static const char *s_of(int64_t n)
{
  return n == 1 ? "" : "s";
}

void zp_train_print_head(zp_train_session *s)
{
  const zp_config *c = &s->cfg;
  const zp_gpt_shape *g = &s->a->shape;
  if (s->headed || s->a->o.json) return;
  s->headed = 1;
  printf("gpt: %d layer%s, width %d, %d head%s, context %d: %lld parameters\n", (int)g->layers,
         s_of(g->layers), (int)g->d_model, (int)g->heads, s_of(g->heads), (int)g->context,
         (long long)zp_gpt_elements(g));
  printf("text: %s, %lld bytes, byte-unigram entropy %.3f nats\n", s->text.what,
         (long long)s->text.n, s->entropy);
  printf(
      "pp %d × dp %d = %d rank%s (%s), ZeRO stage %d, %lld micro-batch%s of %d sequence%s a rank, "
      "%s, %s reduction, buckets of %lld\n",
      (int)c->pp, (int)c->dp, (int)zp_world(c), s_of(zp_world(c)),
      s->mpi != NULL                ? "MPI"
      : s->a->engine->train != NULL ? s->a->engine->where
                                    : "simulated",
      (int)c->stage, (long long)c->micro_batches, c->micro_batches == 1 ? "" : "es", (int)g->batch,
      s_of(g->batch), zp_precision_name(c->precision), zp_reduce_name(c->reduce),
      (long long)c->bucket);
  if (s->a->engine->products != NULL)
    printf("products: %s\n",
           s->a->library ? s->a->engine->products() : "ref's own, in ref's order");
  putchar('\n');
  printf("%6s  %9s  %11s  %12s  %7s  %6s  %12s\n", "step", "loss", "norm", "scale", "skipped",
         "comms", "bytes/rank");
}

void zp_train_print_step(zp_train_session *s, const zp_step_result *r)
{
  const double norm = as_double(r->norm_f64);
  zp_train_print_head(s);
  if (s->a->o.json)
    json_array_append_new(
        s->steps, json_pack("{s:I, s:o, s:o, s:i, s:b, s:I, s:I}", "step", (json_int_t)r->step,
                            "loss", isfinite(loss_of(r)) ? json_real(loss_of(r)) : json_null(),
                            "norm", isfinite(norm) ? json_real(norm) : json_null(), "log2_scale",
                            r->log2_scale, "skipped", r->skipped, "communications",
                            (json_int_t)s->trainer.ops, "bytes", (json_int_t)s->trainer.bytes));
  else
    printf("%6lld  %9.5f  %11.5e  %12.6g  %7s  %6lld  %12lld\n", (long long)r->step, loss_of(r),
           norm, ldexp(1, r->log2_scale), r->skipped ? "yes" : "-", (long long)s->trainer.ops,
           (long long)s->trainer.bytes);
  if (!s->a->o.json) fflush(stdout);
}

/* What is said after the last step. */
int zp_train_conclude(zp_train_session *s)
{
  const zp_train_args *a = s->a;
  const double last = loss_of(&s->out.result[s->out.steps - 1]);
  char bits[24], end[24], *sample = NULL;
  int code = 0;
  snprintf(bits, sizeof bits, "%016" PRIx64, zp_outcome_hash(&s->out, s->out.first));
  snprintf(end, sizeof end, "%016" PRIx64, zp_outcome_end_hash(&s->out));
  if (a->sample > 0) sample = zp_train_sample(a, &s->out.end, s->cfg.precision, &s->text);
  if (a->o.json) {
    json_object_set_new(s->doc, "engine", json_string(a->engine->name));
    json_object_set_new(s->doc, "steps", json_incref(s->steps));
    json_object_set_new(s->doc, "bits", json_string(bits));
    json_object_set_new(s->doc, "end_bits", json_string(end));
    json_object_set_new(s->doc, "entropy", json_real(s->entropy));
    if (sample != NULL) json_object_set_new(s->doc, "sample", json_string(sample));
  } else {
    printf("\nbits of the end (parameters, masters, moments, scaler): %s; with losses and norms: "
           "%s\n",
           end, bits);
    printf("loss %.3f is %s the byte-unigram entropy %.3f\n", last,
           last < s->entropy ? "below" : "not below", s->entropy);
    if (sample != NULL) printf("\nsample\n  | ");
    for (const char *p = sample; p != NULL && *p != 0; p++)
      fputs(*p == '\n' ? "\n  | " : (char[]){*p, 0}, stdout);
    if (sample != NULL) putchar('\n');
  }
  free(sample);
  if (a->plot != NULL) {
    code = zp_train_plot(a, &s->out, s->entropy);
    if (code == 0 && !a->o.json) printf("\nwrote %s\n", a->plot);
  }
  if (a->verify && s->verify == NULL)
    s->verify = zp_verify_start(a, &s->cfg, &s->work, &a->shape, s->out.first + s->out.steps);
  if (s->verify != NULL) {
    const int verdict = zp_verify_finish(s->verify, &s->out, a->o.json ? s->doc : NULL);
    s->verify = NULL;
    if (code == 0) code = verdict;
  }
  if (a->o.json && (json_dumpf(s->doc, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF))
    code = ZP_EXIT_ENVIRONMENT;
  return code;
}
