/* Random cases, faults and folders of every backend of random calls. */
#define _GNU_SOURCE
#include "cases.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../verify/random_case.h"

enum { DRAWS = 2000 };

const char *const zp_api_unsupported[ZP_API_UNSUPPORTED] = {
    "pipeline stages, tensor or expert parallelism or replicas: ranks are threads of one group",
    "so many ranks", "shapes that vary without meta messages"};

uint32_t zp_api_lacking(const zp_case *c, int32_t most_ranks)
{
  return (zp_world(&c->cfg) > most_ranks ? ZP_API_TOO_MANY : 0u) |
         (c->synth.vary && !c->cfg.dynamic_shapes ? ZP_API_VARY : 0u);
}

void zp_api_random_case(uint64_t seed, uint64_t i, zp_case *c, uint32_t (*lacking)(const zp_case *))
{
  uint64_t k = 0;
  do {
    zp_fuzz_random(seed, i * DRAWS + k, c);
    c->reload.pp = 0;
    c->synth.vary = c->synth.vary && c->cfg.dynamic_shapes;
  } while (lacking(c) && ++k < DRAWS);
  if (k == DRAWS) zp_case_init(c);
  c->steps += (int32_t)(i % 4); /* most have one, after which nothing is saved */
  for (int32_t j = 0; i % 8 >= 6 && j < c->cfg.n_params; j++)
    if (i % 8 == 7 || c->params[j].stage == 0) {
      if (c->params[j].tied >= 0) return;
      c->params[j].frozen = 1;
    }
}

/* ---- Faults ---------------------------------------------------------------------------------- */

/* By zp_rank_fault, without the first. */
static const zp_fault faults[] = {
    {"gradient-bit", "none: of the caller", "STEP-2", "rank 0 announces gradients with a wrong bit",
     "list=4@0.0"},
    {"not-loaded", "none: of the caller", "CKPT-5", "rank 0 does not load its checkpoint",
     "steps=3,list=4@0.0"},
    {"stale-rate", "none: of the caller", "STAT-6", "rank 0 has the last step's learning rates",
     "steps=3,rates=1,list=4@0.0"},
    {"no-wrong-call", "none: of the caller", "STEP-3", "rank 0 leaves out the wrong call",
     "list=4@0.0"},
    {"checkpoint-as-step", "none: of the caller", "LEDG-1",
     "rank 0 counts a checkpoint's communications as a step's", "dp=2,steps=3,list=4@0.0"}};

int32_t zp_api_fault_count(void)
{
  return ZP_RANK_FAULTS - 1;
}

const zp_fault *zp_api_fault_at(int32_t i)
{
  return &faults[i];
}

const zp_fault *zp_api_fault_find(const char *name)
{
  for (int32_t i = 0; i < zp_api_fault_count(); i++)
    if (strcmp(faults[i].name, name) == 0) return &faults[i];
  return NULL;
}

int32_t zp_api_rank_fault(const zp_fault *fault)
{
  for (int32_t i = 0; i < zp_api_fault_count(); i++)
    if (fault == &faults[i]) return i + 1;
  return ZP_RANK_FAULT_NONE;
}

/* ---- Findings -------------------------------------------------------------------------------- */

void zp_api_take_seen(const zp_rank_run_found *found, zp_verdict *v)
{
  const zp_rank_run_seen *seen = &found->seen;
  v->steps = (int32_t)found->step;
  v->skipped = seen->skipped;
  v->clipped = seen->clipped;
  v->grown = seen->grown;
  v->lowered = seen->lowered;
  v->reloaded = seen->reloaded;
}

void zp_api_take_found(const zp_rank_run_found *found, zp_verdict *v)
{
  zp_api_take_seen(found, v);
  if (!found->clause[0]) return;
  v->step = found->step;
  zp_verdict_clause(v, found->clause);
  zp_verdict_say(v, "%s%s", v->text_used > 0 ? "\n" : "", found->text);
}

/* ---- Running --------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *at)
{
  (void)s, (void)type, (void)at;
  return remove(path);
}

void zp_api_run_in_folder(const zp_case *c, const zp_fault *fault, zp_verdict *v,
                          void (*run)(const zp_case *, const char *, const zp_fault *,
                                      zp_verdict *))
{
  const char *tmp = getenv("TMPDIR");
  char folder[4096];
  zp_verdict_clear(v);
  snprintf(folder, sizeof folder, "%s/zeroproof-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!mkdtemp(folder)) {
    v->no_memory = 1;
    zp_verdict_say(v, "%s: a folder for checkpoints could not be made", folder);
    return;
  }
  run(c, folder, fault, v);
  nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
