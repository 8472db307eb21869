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

static const char *operands_of(const zp_train_args *a)
{
  return a->chosen.gemm == ZP_GEMM_BF16 ? "operands rounded to bf16; " : "";
}

void zp_train_print_head(zp_train_session *s)
{
  const zp_config *c = &s->cfg;
  const zp_gpt_shape *g = &s->a->shape;
  const int scheduled = s->hyper.schedule.kind != ZP_LR_CONSTANT;
  char text[32], schedule[ZP_LR_TEXT];
  if (s->headed || s->a->o.json) return;
  s->headed = 1;
  printf("gpt: %d layer%s, width %d, %d head%s, context %d: %lld parameters\n", (int)g->layers,
         s_of(g->layers), (int)g->d_model, (int)g->heads, s_of(g->heads), (int)g->context,
         (long long)zp_gpt_elements(g));
  printf("text: %s, %lld bytes, entropy of single bytes %.3f nats\n", s->text.what,
         (long long)s->text.n, s->entropy);
  printf("ranks: pp %d × dp %d = %d (%s%s), ZeRO stage %d, %s%s, buckets of %lld elements\n",
         (int)c->pp, (int)c->dp, (int)zp_world(c),
         s->mpi != NULL                ? "MPI"
         : s->a->engine->train != NULL ? s->a->engine->where
                                       : "simulated",
         zp_replicas_text(zp_replicas(&s->a->o.hyper), text), (int)c->stage,
         zp_precision_name(c->precision), g->fp32_norms ? " with fp32 norms" : "",
         (long long)c->bucket);
  printf("batch: %lld sequences a step: %lld micro-batch%s of %d sequence%s for each of %d "
         "data-parallel rank%s\n",
         (long long)c->micro_batches * c->dp * g->batch, (long long)c->micro_batches,
         c->micro_batches == 1 ? "" : "es", (int)g->batch, s_of(g->batch), (int)c->dp, s_of(c->dp));
  printf("gradients: %s reduction (%s)\n", zp_reduce_name(c->reduce), zp_reduce_text(c->reduce));
  if (s->a->engine->gemm != NULL)
    printf("products: %s%s\n", operands_of(s->a),
           s->a->follow ? s->a->engine->gemm() : "ref's own, in ref's order");
  if (scheduled)
    printf("learning rate: %s, peak %.6g\n", zp_lr_schedule_text(&s->hyper.schedule, schedule),
           s->hyper.peak.optim[0].lr);
  printf("\nloss in nats per byte; norm of the gradient; loss scale; comms: communications of rank "
         "0 in the step,\nsends and receives included; bytes: what rank 0 sends in the step%s\n\n",
         scheduled ? ";\nrate: the learning rate of the first optimizer" : "");
  printf("%6s  %9s  %11s  %12s  %7s  %6s  %12s", "step", "loss", "norm", "scale", "skipped",
         "comms", "bytes");
  printf(scheduled ? "  %11s\n" : "\n", "rate");
}

static json_t *rates_of(const zp_hyper *h)
{
  json_t *list = json_array();
  for (int32_t g = 0; g < h->groups; g++) json_array_append_new(list, json_real(h->optim[g].lr));
  return list;
}

void zp_train_print_step(zp_train_session *s, const zp_step_result *r, int64_t ops, int64_t bytes)
{
  const double norm = as_double(r->norm_f64);
  const zp_hyper now = zp_train_hyper_at(&s->hyper, r->step);
  zp_train_print_head(s);
  if (s->a->o.json)
    json_array_append_new(
        s->steps, json_pack("{s:I, s:o, s:o, s:i, s:b, s:I, s:I, s:o}", "step", (json_int_t)r->step,
                            "loss", isfinite(loss_of(r)) ? json_real(loss_of(r)) : json_null(),
                            "norm", isfinite(norm) ? json_real(norm) : json_null(), "log2_scale",
                            r->log2_scale, "skipped", r->skipped, "communications", (json_int_t)ops,
                            "bytes", (json_int_t)bytes, "lr", rates_of(&now)));
  if (s->a->o.json) return;
  printf("%6lld  %9.5f  %11.5e  %12.6g  %7s  %6lld  %12lld", (long long)r->step, loss_of(r), norm,
         ldexp(1, r->log2_scale), r->skipped ? "yes" : "-", (long long)ops, (long long)bytes);
  if (s->hyper.schedule.kind != ZP_LR_CONSTANT) printf("  %11.5e", now.optim[0].lr);
  putchar('\n');
  fflush(stdout);
}

/* How far products are from ref's. */
static void print_products(zp_train_session *s, const zp_gemm_report *p)
{
  const char *by = s->a->engine->gemm(), *operands = p->bf16 ? "bf16" : "fp32";
  if (s->a->o.json) {
    json_object_set_new(s->doc, "products",
                        json_pack("{s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:I}", "by", by, "operands",
                                  operands, "judged", (json_int_t)(p->elements - p->undecided),
                                  "not_judged", (json_int_t)p->undecided, "farthest", p->max_error,
                                  "loss_apart", p->loss_error, "gradient_apart", p->gradient_error,
                                  "finite_in_one", (json_int_t)p->finite_in_one));
    return;
  }
  printf("\nproducts: %s%s: %" PRId64 " elements judged, the farthest at %.2f of what %s allows",
         operands_of(s->a), by, p->elements - p->undecided, p->max_error,
         p->bf16 ? "ERR-8" : "ERR-7");
  if (p->undecided > 0)
    printf("; of %" PRId64 " the order decides whether they overflow", p->undecided);
  printf("\nfrom ref's own products, at the same parameters: losses at most %.1e apart, a step's "
         "gradients %.1e (relative)",
         p->loss_error, p->gradient_error);
  if (p->finite_in_one > 0) printf("; %" PRId64 " numbers finite in one alone", p->finite_in_one);
  putchar('\n');
}

void zp_train_print_beside(zp_train_session *s, const zp_gemm_report *p)
{
  const int32_t steps = (int32_t)s->out.steps;
  if (s->a->follow) print_products(s, p);
  if (s->a->o.json) return;
  if (s->a->save != NULL)
    printf("        saved in %s, continues at step %" PRId64 "\n", s->a->save,
           s->out.first + steps);
  printf("\n%s, in each of %d steps and on each of %d ranks%s\n", s->a->engine->clean, (int)steps,
         (int)zp_world(&s->cfg),
         s->a->follow ? ", from the losses and gradients that it made" : "");
}

/* What the run was, into the document or to standard output. */
static void print_results(zp_train_session *s, const char *sample)
{
  const double last = loss_of(&s->out.result[s->out.steps - 1]);
  char bits[24], end[24];
  snprintf(bits, sizeof bits, "%016" PRIx64, zp_outcome_hash(&s->out, s->out.first));
  snprintf(end, sizeof end, "%016" PRIx64, zp_outcome_end_hash(&s->out));
  if (s->a->o.json) {
    json_object_set_new(s->doc, "engine", json_string(s->a->engine->name));
    json_object_set_new(s->doc, "steps", json_incref(s->steps));
    json_object_set_new(s->doc, "bits", json_string(bits));
    json_object_set_new(s->doc, "end_bits", json_string(end));
    json_object_set_new(s->doc, "entropy", json_real(s->entropy));
    if (sample != NULL) json_object_set_new(s->doc, "sample", json_string(sample));
    return;
  }
  printf("\nhash of the final state (parameters, master weights, moments, loss scaler): %s\n"
         "hash of the run (final state; loss, norm and loss scale of each step): %s\n",
         end, bits);
  printf("final loss %.3f %s %.3f nats, the entropy of single bytes: the model %s\n", last,
         last < s->entropy ? "<" : "≥", s->entropy,
         last < s->entropy ? "has learned more than their frequencies"
                           : "has not yet learned more than their frequencies");
  if (sample != NULL)
    printf("\nThe trained model continues the text's first %d bytes (it is too small to write "
           "words; ? is an unprintable byte):\n  | ",
           ZP_SAMPLE_PROMPT);
  for (const char *p = sample; p != NULL && *p != 0; p++)
    fputs(*p == '\n' ? "\n  | " : (char[]){*p, 0}, stdout);
  if (sample != NULL) putchar('\n');
}

/* The verdict is printed before the plot, which may fail or take long, and its exit code wins. */
int zp_train_conclude(zp_train_session *s)
{
  const zp_train_args *a = s->a;
  char *sample = NULL;
  int code = 0;
  if (a->sample > 0)
    sample = zp_train_sample(&a->shape, &s->out.end, &s->cfg, s->text.bytes, s->text.n, a->sample,
                             (uint64_t)a->o.value[ZP_OPT_SEED]);
  print_results(s, sample);
  free(sample);
  if (a->verify && s->verify == NULL)
    s->verify =
        zp_verify_start(&s->cfg, &s->hyper, &s->work, &a->shape, s->out.first + s->out.steps);
  if (s->verify != NULL)
    code = zp_train_verified(s->verify, &a->o, &s->out, a->o.json ? s->doc : NULL);
  s->verify = NULL;
  if (a->o.json && (json_dumpf(s->doc, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF) &&
      code == 0)
    code = ZP_EXIT_ENVIRONMENT;
  fflush(stdout);
  if (a->plot == NULL) return code;
  const int plot = zp_train_plot(a, &s->out, s->entropy);
  if (plot == 0 && !a->o.json) printf("\nwrote %s\n", a->plot);
  return code != 0 ? code : plot;
}
