/* Opens a case from its text. */
#ifndef ZP_TESTS_ENGINE_CASE_H
#define ZP_TESTS_ENGINE_CASE_H

#include <criterion/criterion.h>

#include "../../../cuda/verify/case.h"

static inline void open_text(zp_diff_case *j, const char *text)
{
  static zp_error err;
  zp_case c;
  char why[256] = "";
  zp_case_init(&c);
  cr_assert_eq(zp_case_parse(&c, text, why, sizeof why), 0, "%s", why);
  cr_assert_eq(zp_diff_case_open(j, &c, &err), 0, "%s", err.text);
}

#endif
