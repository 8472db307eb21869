/* zeroproof-api: `zeroproof` with the public functions of the engine as its backend. `rank FOLDER
 * CASE FAULT` is one process of a case under mpirun. */
#include <string.h>

#include "../base/process.h"
#include "../cli/cli.h"
#include "../cli/commands.h"
#include "backend.h"

int main(int argc, char **argv)
{
  if (argc == 5 && strcmp(argv[1], "rank") == 0) {
    zp_process_begin(ZP_EXIT_ENVIRONMENT);
    return zp_api_mpi_rank(argv[2], argv[3], argv[4]);
  }
  return zp_main(argc, argv, &zp_backend_api);
}
