/* Damages a state of ref/engine, so that its invariant must report it. For a private state, the
 * test includes the .c file that defines it. */
#ifndef ZP_TESTS_ENGINE_DAMAGE_H
#define ZP_TESTS_ENGINE_DAMAGE_H

#include <criterion/criterion.h>
#include <string.h>

#include "../../../ref/base/error.h"

/* The error is the violation of a condition, with the file that states it and a line. */
static inline void check_internal(const zp_error *err, const char *file, const char *condition)
{
  const char *where = strstr(err->text, file);
  cr_assert_eq(err->status, ZP_E_INTERNAL, "%s: status %d: %s", condition, err->status, err->text);
  cr_assert_str_eq(zp_status_name(err->status), "internal");
  cr_assert(strstr(err->text, "internal error: the invariant ") && strstr(err->text, condition),
            "%s: %s", condition, err->text);
  cr_assert(where && where[strlen(file)] == ':' && where[strlen(file) + 1] >= '1' &&
                where[strlen(file) + 1] <= '9',
            "no %s:LINE: %s", file, err->text);
}

/* Calls with a member that has a value that it must not have, and restores it. */
#define WITH_DAMAGE(member, bad, call)                                                             \
  do {                                                                                             \
    const __typeof__(member) whole = member;                                                       \
    (member) = bad;                                                                                \
    call;                                                                                          \
    (member) = whole;                                                                              \
  } while (0)

#endif
