/* kernel_check ROUNDS SEED */
#include <stdlib.h>

#include "kernel_check.h"
#include "main.h"

int zp_gpu_main(int argc, char **argv)
{
  if (argc != 3) {
    fprintf(stderr, "usage: %s ROUNDS SEED\n", argv[0]);
    return 2;
  }
  return zp_kernel_check(atoll(argv[1]), strtoull(argv[2], NULL, 10), stdout);
}
