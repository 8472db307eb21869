/* zeroproof-simdev: `zeroproof` with the CUDA engine on simdev. --products prints the GEMM backend,
 * for `zeroproof env`. */
#include <stdio.h>
#include <string.h>

#include "../../ref/base/process.h"
#include "../../ref/cli/cli.h"
#include "../../ref/cli/commands.h"
#include "../gpt/product.h"
#include "../verify/backend.h"

#if defined(__SANITIZE_THREAD__)
/* simdev's options (race.c), with exit code 0: the command has its own exit codes for a race. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:history_size=5:atexit_sleep_ms=0:"
         "exitcode=0";
}
#endif

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "--products") == 0) {
    zp_process_begin(ZP_EXIT_ENVIRONMENT);
    puts(zp_products_name());
    return 0;
  }
  return zp_main(argc, argv, &zp_backend_cuda);
}
