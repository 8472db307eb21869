/* zeroproof-api-cuda: `zeroproof` with random calls of the CUDA engine's public functions as its
 * backend. */
#include "../../ref/cli/commands.h"
#include "../engine_cases/backend.h"
#include "tsan_options.h"

int main(int argc, char **argv)
{
  return zp_main(argc, argv, &zp_backend_api_cuda);
}
