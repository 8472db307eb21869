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

/* In a section of their own, of a fixed size: a program's hash without this section depends on its
 * sources alone (tests/runner/elf.py). */
#define SECTION __attribute__((section(".zp_build")))
static const char version[64] SECTION = ZP_VERSION;
static const char commit[64] SECTION = ZP_COMMIT;
static const char claims[80] SECTION = ZP_CLAIMS;

zp_build_info zp_build(void)
{
  const zp_build_info info = {version, commit, claims};
  return info;
}
