/* Training with the engine beside ref. */
#include <stdint.h>
#include <string.h>

#include "backend.h"
#include "state.h"

/* The status of a run with a finding: without memory, or after an error of a real device, it is not
 * a verdict. */
static int status_of(const zp_diff *t)
{
  const char *kind = zp_diff_finding(t)->kind;
  if (strcmp(kind, "memory") == 0) return ZP_E_MEMORY;
  for (int32_t r = 0; zp_ranks_as == ZP_RANKS_THREADS && r < t->world; r++)
    if (strcmp(kind, "engine") == 0 &&
        (t->error[r].status == ZP_E_DEVICE || t->error[r].status == ZP_E_MEMORY))
      return ZP_E_DEVICE;
  return ZP_E_VERDICT;
}

/* 0, or a negative status; *t must be closed in either case. with: printed before the finding. */
static int train(const zp_backend_training *job, int32_t steps, const zp_diff_watch *watch,
                 const char *with, zp_diff **t, zp_error *err)
{
  zp_schedule s = zp_schedule_of(1);
  *t = zp_diff_open(job->cfg, &job->hyper->peak, job->work, steps, watch, err);
  if (*t == NULL) return err->status;
  s.offload = job->offload;
  s.get_each = 1; /* so that each step can be printed when it is done */
  s.producers = 2;
  s.decisions_max = INT64_MAX; /* deadlocks are found without it */
  if (!zp_diff_run(*t, &s)) return 0;
  return zp_fail(err, status_of(*t), -1, "the CUDA engine%s: %s: %s", with,
                 zp_diff_finding(*t)->kind, zp_diff_finding(*t)->text);
}

/* Where products are not ref's, no bound judges the model between its products. So the first step
 * is also done with ref's products, where all bits must be ref's. */
static int between_products(const zp_backend_training *job, zp_error *err)
{
  const zp_diff_storage storage = {.load = job->load};
  const zp_diff_watch watch = {.storage = &storage, .scheduled = job->hyper};
  zp_diff *t;
  const int status = train(job, 1, &watch, ", its first step with ref's products", &t, err);
  zp_diff_close(t);
  return status;
}

int zp_cuda_train(const zp_backend_training *job, zp_error *err)
{
  const zp_diff_storage storage = {.load = job->load,
                                   .save = job->save_open != NULL,
                                   .ctx = job->ctx,
                                   .open = job->save_open,
                                   .close = job->save_close};
  const zp_diff_watch watch = {.ctx = job->ctx,
                               .ref = job->ref_stepped,
                               .engine = job->stepped,
                               .storage = &storage,
                               .scheduled = job->hyper,
                               .products = job->products};
  zp_diff *t;
  int status = job->products ? between_products(job, err) : 0;
  if (status) return status;
  status = train(job, job->steps, &watch, "", &t, err);
  if (!status) status = job->finished(job->ctx, zp_diff_ref(t), err);
  zp_diff_close(t);
  return status;
}
