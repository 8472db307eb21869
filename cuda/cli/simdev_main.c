/* zeroproof-simdev: `zeroproof` with the CUDA engine on simdev. --products prints the GEMM backend,
 * for `zeroproof env`. */
#include <stdio.h>
#include <string.h>

#include "../../ref/base/process.h"
#include "../../ref/cli/cli.h"
#include "../../ref/cli/commands.h"
#include "../gpt/product.h"
#include "../verify/backend.h"
#include "tsan_options.h"

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "--products") == 0) {
    zp_process_begin(ZP_EXIT_ENVIRONMENT);
    puts(zp_products_name());
    return 0;
  }
  return zp_main(argc, argv, &zp_backend_cuda);
}
