/* zeroproof-loopback: as zeroproof-simdev, with all ranks in one process on one device, and the
 * loopback as NCCL. */
#include "../../ref/cli/commands.h"
#include "../trial/twin.h"
#include "place.h"

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
  if (zp_loopback_place_ranks()) return 3;
  return zp_main(argc, argv, &zp_engine_twin);
}
