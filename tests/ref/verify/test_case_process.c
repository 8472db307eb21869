/* A case hangs by its own processor time: other work on the machine makes none hang. */
#define _POSIX_C_SOURCE 200809L
#include <criterion/criterion.h>
#include <time.h>

#include "../../../ref/verify/case_process.h"

static void computes(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  (void)c, (void)fault, (void)v;
  volatile int x = 0;
  while (x == 0) x = 0;
}

/* Longer than the limit, as on a busy machine. */
static void waits(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  const struct timespec t = {1, 200000000};
  (void)c, (void)fault, (void)v;
  nanosleep(&t, NULL);
}

/* Without end: given up at 20 times the limit. */
static void blocks(const zp_case *c, const zp_fault *fault, zp_verdict *v)
{
  while (1) waits(c, fault, v);
}

static int32_t ends(void (*run)(const zp_case *, const zp_fault *, zp_verdict *), double limit)
{
  static zp_verdict v;
  zp_case c;
  const zp_backend engine = {.run_case = run};
  zp_case_init(&c);
  return zp_fuzz_one(&engine, &c, NULL, limit, &v);
}

Test(case_process, hangs_by_processor_time)
{
  cr_assert_eq(ends(computes, 0.1), ZP_FUZZ_HUNG);
  cr_assert_eq(ends(waits, 1), ZP_FUZZ_CLEAN);
  cr_assert_eq(ends(blocks, 0.1), ZP_FUZZ_HUNG);
}
