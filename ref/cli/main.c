/* The command `zeroproof`. */
#include "../comm/job/roster.h"
#include "../verify/backend.h"
#include "commands.h"

int main(int argc, char **argv)
{
  zp_roster_report(ZP_ROSTER_HERE, NULL, -1);
  const int code = zp_main(argc, argv, &zp_backend_ref);
  zp_roster_report(ZP_ROSTER_LEAVES, code == 0 ? NULL : "an error (see its messages)", -1);
  return code;
}
