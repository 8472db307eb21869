/* zeroproof-simdev: `zeroproof` with the CUDA twin on simdev as its engine. --products: who
 * multiplies the model's matrices, which `zeroproof env` asks. */
#include <stdio.h>
#include <string.h>

#include "../../ref/cli/commands.h"
#include "../model/product.h"
#include "twin.h"

#if defined(__SANITIZE_THREAD__)
/* simdev's own (race.c); and a race is a verdict of the command's, which has exit codes of its own.
 */
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
    puts(zp_products_are());
    return 0;
  }
  return zp_main(argc, argv, &zp_engine_twin);
}
