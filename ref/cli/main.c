/* The command `zeroproof`. */
#include "commands.h"
#include "engine.h"

int main(int argc, char **argv)
{
  return zp_main(argc, argv, &zp_engine_ref);
}
