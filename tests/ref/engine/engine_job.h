/* A small training job on synth, for the engine's tests. */
#ifndef ZP_TESTS_ENGINE_JOB_H
#define ZP_TESTS_ENGINE_JOB_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/comm/sim/comm_sim.h"
#include "../../../ref/engine/serial.h"
#include "../../../ref/model/synth.h"

enum { ENTRIES = 5 };

/* Five entries over pp stages: a tied key on first and last, odd sizes, one straddling buckets. */
typedef struct job {
  zp_param list[ENTRIES];
  zp_config cfg;
  zp_hyper hyper;
  zp_synth synth;
  zp_workload work;
  zp_error err;
} job;

static inline void job_fill(job *j, int32_t pp, int32_t dp, int64_t global, int32_t stage,
                            int64_t bucket, int32_t reduce, int32_t mode)
{
  const int64_t numel[ENTRIES] = {13, 1, 40, 7, 13};
  memset(j, 0, sizeof *j);
  for (int32_t i = 0; i < ENTRIES; i++)
    j->list[i] = (zp_param){.numel = numel[i],
                            .tied = i == 0 || i == 4 ? 0 : -1,
                            .optgroup = i % 2,
                            .stage = i * pp / ENTRIES};
  j->list[4].optgroup = j->list[0].optgroup = 0;
  j->cfg = (zp_config){.pp = pp,
                       .dp = dp,
                       .tp = 1,
                       .ep = 1,
                       .stage = stage,
                       .reduce = reduce,
                       .precision = ZP_BF16,
                       .optgroups = 2,
                       .tied_keys = 1,
                       .n_params = ENTRIES,
                       .micro_batches = global / dp,
                       .bucket = bucket,
                       .align = 2,
                       .params = j->list};
  j->hyper.groups = 1;
  j->hyper.optim[0] = (zp_optim){.kind = ZP_OPTIM_ADAMW,
                                 .lr = 1e-2,
                                 .beta1 = 0.9,
                                 .beta2 = 0.95,
                                 .eps = 1e-8,
                                 .weight_decay = 0.1};
  j->hyper.clip = 1;
  j->hyper.clip_eps = 1e-6;
  cr_assert_eq(zp_scaler_init(&j->hyper.scaler, 1, 3, 0, 20, 2, 1, 0), 0);
  j->synth.opt = (zp_synth_options){.seed = 7, .mode = mode, .unused = 40, .overflow = 1u << 3};
  j->work = zp_synth_workload(&j->synth);
}

static inline zp_sim *job_start(job *j)
{
  zp_refusal why;
  cr_assert_eq(zp_config_check(&j->cfg, &why), 0, "field %d", why.field);
  zp_sim *sim = zp_sim_open(&j->cfg, &j->hyper, &j->work, &j->err);
  cr_assert(sim, "%s", j->err.text);
  cr_assert_eq(zp_sim_run(sim, ZP_PHASE_INIT, &j->err), 0, "%s", j->err.text);
  return sim;
}

#endif
