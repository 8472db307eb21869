/* The part of Criterion that the unit tests use, in C that E-ACSL can instrument: each test is a
 * function, each assertion a call. See proofs/eacsl.py. */
#ifndef ZP_EACSL_CRITERION_H
#define ZP_EACSL_CRITERION_H

void zp_eacsl_check(int holds, const char *text, const char *file, int line);

#define Test(suite, name, ...) static void test_##suite##_##name(void)
#define cr_assert(holds, ...) zp_eacsl_check((holds) ? 1 : 0, #holds, __FILE__, __LINE__)
#define cr_assert_eq(a, b, ...) zp_eacsl_check((a) == (b), #a " == " #b, __FILE__, __LINE__)
#define cr_assert_neq(a, b, ...) zp_eacsl_check((a) != (b), #a " != " #b, __FILE__, __LINE__)
#define cr_assert_lt(a, b, ...) zp_eacsl_check((a) < (b), #a " < " #b, __FILE__, __LINE__)
#define cr_assert_gt(a, b, ...) zp_eacsl_check((a) > (b), #a " > " #b, __FILE__, __LINE__)
#define cr_assert_leq(a, b, ...) zp_eacsl_check((a) <= (b), #a " <= " #b, __FILE__, __LINE__)
#define cr_assert_geq(a, b, ...) zp_eacsl_check((a) >= (b), #a " >= " #b, __FILE__, __LINE__)
#define cr_assert_arr_eq(a, b, n, ...) zp_eacsl_check(memcmp(a, b, n) == 0, #a, __FILE__, __LINE__)

#endif
