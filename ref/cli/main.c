/* The command `zeroproof`. */
#include "../verify/backend.h"
#include "commands.h"

int main(int argc, char **argv)
{
  return zp_main(argc, argv, &zp_backend_ref);
}
