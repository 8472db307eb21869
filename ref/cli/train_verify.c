/* --verify: what the other runs have shown. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "train.h"

static int any(const zp_differences *d)
{
  return d->losses | d->norms | d->scales | d->params | d->masters | d->moments;
}

static const char *verdict(int32_t differs)
{
  return differs ? "DIFFER" : "equal";
}

/* 1 when the run failed, or differs from the main one. */
static int is_bad(const zp_verify_run *j, const zp_outcome *main_run)
{
  zp_differences d;
  if (j->status != 0) return 1;
  d = zp_outcome_compare(main_run, &j->out);
  return any(&d) || j->out.end.replicas_differ || !(j->serial || j->out.ledgers_agree);
}

/* One line, or one JSON object, of a compared run. */
static void report(const char *command, const zp_verify_run *j, const zp_outcome *main_run,
                   json_t *list)
{
  const zp_config *c = &j->cfg;
  zp_differences d;
  char name[96] = "serial, without ranks and buckets";
  const int width = j->serial ? 40 : 41; /* bytes: × has two */
  if (!j->serial)
    snprintf(name, sizeof name, "dp %2d × pp %d, ZeRO %d, buckets of %" PRId64, (int)c->dp,
             (int)c->pp, (int)c->stage, c->bucket);
  if (j->status != 0) {
    fprintf(stderr, "%s: verify: %s: %s\n", command, name, j->out.err.text);
    return;
  }
  d = zp_outcome_compare(main_run, &j->out);
  if (list != NULL)
    json_array_append_new(
        list, json_pack("{s:s, s:i, s:i, s:i, s:I, s:b, s:b, s:b, s:b, s:b, s:b, s:b}", "run",
                        j->serial ? "serial" : "topology", "dp", c->dp, "pp", c->pp, "stage",
                        c->stage, "bucket", (json_int_t)c->bucket, "equal", !any(&d), "losses",
                        !d.losses, "norms", !d.norms, "scales", !d.scales, "params", !d.params,
                        "masters", !d.masters, "moments", !d.moments));
  else if (any(&d))
    printf("  %-*s losses %s, norms %s, scales %s, parameters %s, masters %s, moments %s\n", width,
           name, verdict(d.losses), verdict(d.norms), verdict(d.scales), verdict(d.params),
           verdict(d.masters), verdict(d.moments));
  else if (j->serial) printf("  %-*s all bits equal\n", width, name);
  else
    printf("  %-*s all bits equal, hash of the run %016" PRIx64 "\n", width, name,
           zp_outcome_hash(&j->out, main_run->first));
}

/* 1 when one of the other runs has another dp, or (pp) another pp, than the main one (the oracle's
 * configuration). */
static int varies(const zp_verify *v, int pp)
{
  const zp_config *own = &zp_verify_run_at(v, 0)->cfg;
  for (int32_t i = 1; i < zp_verify_runs(v); i++) {
    const zp_config *c = &zp_verify_run_at(v, i)->cfg;
    if (pp ? c->pp != own->pp : c->dp != own->dp) return 1;
  }
  return 0;
}

/* The verdict, and what it was about. */
static void print_verdict(int bad, int32_t equal, int32_t others, int64_t steps)
{
  printf("\n%s: this run was compared bit for bit, over %" PRId64 " steps, with serial training",
         bad ? "FAILED" : "Verified", steps);
  if (others > 0)
    printf("\nand with %d other configurations of the same global batch; %d of %d are equal",
           (int)others, (int)equal, (int)others);
  printf("\n(losses, norms, loss scales, parameters, master weights, moments)\n");
}

/* What was not compared, and why. */
static void print_limits(const zp_verify *v, int32_t others)
{
  const zp_config *c = &zp_verify_run_at(v, 0)->cfg;
  const int64_t batch = c->micro_batches * c->dp;
  if (others == 0)
    printf("  other topologies: not compared, since ordered additions depend on the topology "
           "(--reduce exact does not)\n");
  else if (!varies(v, 0) && batch == 1)
    printf("  dp does not vary: a global batch of 1 micro-batch cannot be split\n");
  else if (!varies(v, 0))
    printf("  dp does not vary: a global batch of %" PRId64 " micro-batches has no other divisor "
           "up to %d\n",
           batch, ZP_VERIFY_DP_MAX);
}

static void print_groups(const zp_outcome *main_run)
{
  printf("  within this run: members of a group issued %s communications (%" PRId64
         " process groups,\n    single-member ones included); replicas of parameters are %s\n",
         main_run->ledgers_agree ? "the same sequence of" : "DIFFERENT", main_run->ledger_groups,
         main_run->end.replicas_differ ? "DIFFERENT" : "equal");
}

static int judge(const zp_verify *v, const char *command, const zp_outcome *main_run, json_t *doc)
{
  json_t *list = doc != NULL ? json_array() : NULL;
  int bad = !main_run->ledgers_agree || main_run->end.replicas_differ, equal = 0, others = 0;
  for (int32_t i = 0; i < zp_verify_runs(v); i++) {
    const zp_verify_run *j = zp_verify_run_at(v, i);
    const int differs = is_bad(j, main_run);
    bad |= differs;
    others += !j->serial;
    equal += !j->serial && !differs;
  }
  if (doc == NULL) print_verdict(bad, equal, others, main_run->steps);
  for (int32_t i = 0; i < zp_verify_runs(v); i++)
    report(command, zp_verify_run_at(v, i), main_run, list);
  if (doc != NULL) {
    json_object_set_new(doc, "verify",
                        json_pack("{s:b, s:b, s:b, s:i, s:i, s:b, s:b, s:o}", "ok", !bad,
                                  "ledgers_agree", main_run->ledgers_agree, "replicas_equal",
                                  !main_run->end.replicas_differ, "topologies", others,
                                  "topologies_equal", equal, "dp_varies", varies(v, 0), "pp_varies",
                                  varies(v, 1), "runs", list));
    return bad ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
  }
  print_groups(main_run);
  print_limits(v, others);
  if (main_run->first > 0)
    printf("  (serial training and the other configurations trained from step 0 without "
           "interruption)\n");
  return bad ? ZP_EXIT_VERDICT : ZP_EXIT_GOOD;
}

static void progress(int32_t done, int32_t runs)
{
  dprintf(STDERR_FILENO, "\r  verifying: %d of %d runs", (int)done, (int)runs);
}

int zp_train_verified(zp_verify *v, const zp_options *o, const zp_outcome *main_run, void *json)
{
  const int quiet = o->json || !isatty(STDERR_FILENO) || main_run == NULL;
  int code = 0;
  zp_verify_wait(v, main_run == NULL, quiet ? NULL : progress);
  if (!quiet) dprintf(STDERR_FILENO, "\r\033[K");
  if (main_run != NULL) code = judge(v, o->command, main_run, json);
  zp_verify_free(v);
  return code;
}
