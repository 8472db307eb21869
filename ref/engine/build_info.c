/* The only object that depends on more than its source and the compiler. */
#include "build_info.h"

#ifndef ZP_VERSION
#define ZP_VERSION "unknown"
#endif
#ifndef ZP_COMMIT
#define ZP_COMMIT "unknown"
#endif
#ifndef ZP_CLAIMS
#define ZP_CLAIMS "none"
#endif

zp_build_info zp_build(void)
{
  const zp_build_info info = {ZP_VERSION, ZP_COMMIT, ZP_CLAIMS};
  return info;
}
