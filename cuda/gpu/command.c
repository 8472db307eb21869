/* zeroproof-cuda: `zeroproof train --engine cuda` with a real device. All ranks are threads of this
 * process, which share the device, and the loopback is their NCCL. gpt's kernels and what they keep
 * are on the device; parameters, gradients and the engine's state are pinned memory of the host,
 * which the device reaches over the bus and the comparison with ref reads. --products alone tells who
 * multiplies the model's matrices, --device whether there is a device. */
#include <stdio.h>
#include <string.h>

#include "../../ref/cli/commands.h"
#include "../../ref/cli/options.h"
#include "../loopback/place.h"
#include "../trial/twin.h"

static int train(const zp_engine_training *job, zp_error *err)
{
  zp_error why = {0};
  int status;
  if (zp_world(job->cfg) > ZP_LOOPBACK_RANKS)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "%d ranks: one GPU has at most %d. Change --dp or --pp, or use --device sim.",
                   (int)zp_world(job->cfg), (int)ZP_LOOPBACK_RANKS);
  if (zp_loopback_place_ranks())
    return zp_fail(
        err, ZP_E_DEVICE, -1,
        "there is no device, or no pinned memory of 2 GiB for its ranks: nvidia-smi says "
        "which devices there are, ulimit -l how much may be pinned; --device sim needs "
        "none");
  status = zp_twin_train(job, &why);
  return status == 0 ? 0
                     : zp_fail(err, status, why.rank, "%s%s", why.text,
                               status == ZP_E_DEVICE ? " (ranks share 2 GiB of pinned memory: a "
                                                       "smaller model or fewer ranks need less)"
                                                     : "");
}

int main(int argc, char **argv)
{
  static char name[] = "zeroproof train";
  zp_engine engine = zp_engine_twin;
  if (argc == 2 && strcmp(argv[1], "--products") == 0) {
    puts(zp_products_are());
    return 0;
  }
  if (argc == 2 && strcmp(argv[1], "--device") == 0) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) return ZP_EXIT_ENVIRONMENT;
    printf("%d\n", devices);
    return 0;
  }
  if (argc < 2 || strcmp(argv[1], "train") != 0) {
    const int asked = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"));
    fprintf(asked ? stdout : stderr,
            "Usage: %s train --engine cuda [OPTION...]\n"
            "The other commands need no device: `zeroproof help` lists them.\n",
            argv[0]);
    return asked ? 0 : ZP_EXIT_REFUSED;
  }
  engine.train = train;
  engine.program = "zeroproof-cuda";
  engine.where = "the CUDA twin on a CUDA device, beside ref";
  argv[1] = name;
  return zp_cmd_train(argc - 1, argv + 1, &engine);
}
