/* Shared by the exhaustive checks: counts the checks; the first failure exits. */
#ifndef ZP_PROOFS_ENUMERATE_H
#define ZP_PROOFS_ENUMERATE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t cases, checks;
static char at_case[256]; /* the current case, for the message */

static inline void failed(const char *file, int line, const char *what)
{
  printf("%s:%d: case %s: false, expected true: %s\n", file, line, at_case, what);
  exit(1);
}

#define MUST(x) (checks++, (x) ? (void)0 : failed(__FILE__, __LINE__, #x))
#define CASE(...) (cases++, (void)snprintf(at_case, sizeof at_case, __VA_ARGS__))

static inline int report(const char *what)
{
  printf("  %-9s %9" PRId64 " cases %11" PRId64 " checks   %s\n", what, cases, checks, "all hold");
  return 0;
}

#endif
