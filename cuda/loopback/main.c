/* zeroproof-loopback: as zeroproof-simdev, with all ranks in one process on one device, and the
 * loopback as NCCL. */
#include "../../ref/cli/commands.h"
#include "../trial/trial_internal.h"
#include "../trial/twin.h"
#include "loopback.h"

#if defined(__SANITIZE_THREAD__)
/* As in cuda/trial/main.c. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:exitcode=0";
}
#endif

int main(int argc, char **argv)
{
  static const zp_loopback_hosts hosts = {simdev_lock, simdev_unlock, simdev_pause};
  zp_loopback_use(&hosts);
  zp_trial_ranks = ZP_TRIAL_HOSTS;
  return zp_main(argc, argv, &zp_engine_twin);
}
