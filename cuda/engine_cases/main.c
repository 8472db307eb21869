/* zeroproof-api-cuda: `zeroproof` with the CUDA engine's public functions as its backend. */
#include "../../ref/cli/commands.h"
#include "backend.h"

int main(int argc, char **argv)
{
  return zp_main(argc, argv, &zp_backend_api_cuda);
}
