/* The command with an engine that trains wrong: it reports each loss with one bit changed, so that
 * --verify fails. */
#include "../../../ref/cli/commands.h"
#include "../../../ref/comm/sim/comm_sim.h"

static int train(const zp_backend_training *job, zp_error *err)
{
  zp_sim *sim = zp_sim_open(job->cfg, &job->hyper->peak, job->work, err);
  if (sim == NULL) return err->status;
  int status = zp_sim_run(sim, ZP_PHASE_INIT, err);
  if (status == 0) job->ref_stepped(job->ctx, sim, -1);
  for (int32_t s = 0; s < job->steps && status == 0; s++) {
    status = zp_sim_run(sim, ZP_PHASE_STEP, err);
    if (status != 0) break;
    zp_step_result wrong = zp_sim_rank(sim, 0)->result;
    wrong.loss ^= 1;
    job->ref_stepped(job->ctx, sim, s);
    job->stepped(job->ctx, &wrong);
  }
  if (status == 0) status = job->finished(job->ctx, sim, err);
  zp_sim_close(sim);
  return status;
}

int main(int argc, char **argv)
{
  zp_backend wrong = zp_backend_ref;
  wrong.name = "cuda";
  wrong.program = "wrong_train_driver";
  wrong.where = "simulated";
  wrong.train = train;
  return zp_main(argc, argv, &wrong);
}
