/* zeroproof-simdev-counters: zeroproof-simdev that counts accesses to memory, for `zeroproof
 * counters`. */
#include "../../ref/cli/commands.h"
#include "../counters/counters.h"
#include "../verify/backend.h"

int main(int argc, char **argv)
{
  zp_backend engine = zp_backend_cuda;
  engine.program = "zeroproof-simdev-counters";
  engine.counters = zp_cuda_counters;
  return zp_main(argc, argv, &engine);
}
