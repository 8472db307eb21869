/* zeroproof-cuda: `zeroproof train --engine cuda` with a real device. All ranks are threads of this
 * process, which share the device, and nccl_threads is their NCCL. The memory of gpt's kernels is
 * device memory; parameters, gradients and the engine's state are pinned memory of the host, which
 * the device accesses over the bus and the comparison with ref reads. --products alone prints the
 * GEMM backend, --device whether there is a device. */
#include <stdio.h>
#include <string.h>

#include "../../ref/base/process.h"
#include "../../ref/cli/commands.h"
#include "../../ref/cli/options.h"
#include "../gpt/product.h"
#include "../one_device/ranks_on_device.h"
#include "../verify/backend.h"

static int train(const zp_backend_training *job, zp_error *err)
{
  zp_error why = {0};
  int status;
  if (zp_world(job->cfg) > ZP_NCCL_THREADS_RANKS_MAX)
    return zp_fail(err, ZP_E_REFUSED, -1,
                   "%d ranks: one GPU has at most %d. Change --dp or --pp, or use --device sim.",
                   (int)zp_world(job->cfg), (int)ZP_NCCL_THREADS_RANKS_MAX);
  if (zp_ranks_on_one_device())
    return zp_fail(
        err, ZP_E_DEVICE, -1,
        "there is no device, or no pinned memory of 2 GiB for its ranks: nvidia-smi says "
        "which devices there are, ulimit -l how much may be pinned; --device sim needs "
        "none");
  status = zp_cuda_train(job, &why);
  return status == 0 ? 0
                     : zp_fail(err, status, why.rank, "%s%s", why.text,
                               status == ZP_E_DEVICE ? " (ranks share 2 GiB of pinned memory: a "
                                                       "smaller model or fewer ranks need less)"
                                                     : "");
}

int main(int argc, char **argv)
{
  static char name[] = "zeroproof train";
  zp_backend engine = zp_backend_cuda;
  zp_process_begin(ZP_EXIT_ENVIRONMENT);
  if (argc == 2 && strcmp(argv[1], "--products") == 0) {
    puts(zp_products_name());
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
  engine.where = "the CUDA engine on a CUDA device, beside ref";
  argv[1] = name;
  return zp_cmd_train(argc - 1, argv + 1, &engine);
}
