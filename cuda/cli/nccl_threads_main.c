/* zeroproof-nccl-threads: zeroproof-simdev with all ranks in one process on one device, and
 * nccl_threads as NCCL. Its old name is zeroproof-loopback. */
#include "../../ref/cli/commands.h"
#include "../one_device/ranks_on_device.h"
#include "../verify/backend.h"
#include "tsan_options.h"

int main(int argc, char **argv)
{
  if (zp_ranks_on_one_device()) return 3;
  return zp_main(argc, argv, &zp_backend_cuda);
}
