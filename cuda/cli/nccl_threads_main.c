/* zeroproof-nccl-threads: zeroproof-simdev with all ranks in one process on one device, and
 * nccl_threads as NCCL. Its old name is zeroproof-loopback. */
#include "../../ref/cli/commands.h"
#include "../one_device/ranks_on_device.h"
#include "../verify/backend.h"

#if defined(__SANITIZE_THREAD__)
/* As in simdev_main.c. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:exitcode=0";
}
#endif

int main(int argc, char **argv)
{
  if (zp_ranks_on_one_device()) return 3;
  return zp_main(argc, argv, &zp_backend_cuda);
}
