/* Random cases: case number i of a seed is always the same one. */
#ifndef ZP_VERIFY_RANDOM_CASE_H
#define ZP_VERIFY_RANDOM_CASE_H

#include <stdint.h>

#include "case_run.h"

/* At most 16 ranks and 1,000 logical elements; half of the cases under exact reduction. */
void zp_fuzz_random(uint64_t seed, uint64_t i, zp_case *c);

/* What a case exercises: an axis that (nearly) no case is on is a hole in the test. */
enum { ZP_FUZZ_AXES = 80 }; /* the most */
int32_t zp_fuzz_axes(void);
const char *zp_fuzz_axis_name(int32_t axis); /* in JSON */
const char *zp_fuzz_axis_title(int32_t axis);
/* Of the axes from this one on, or NULL. */
const char *zp_fuzz_axis_heading(int32_t axis);
/* 1: an option of an engine with several orders of execution; a case is on it if one of its orders
 * has the option and the case lets it matter. Other engines are on none of them. */
int zp_fuzz_axis_is_option(int32_t axis);
/* The share of the cases that are on the axis at least: 5 % of the options of an engine, and of
 * those that a configuration gives it; 2 % of the others. */
double zp_fuzz_axis_share_min(int32_t axis);
/* 1 when the case, which ran as v says, is on the axis. */
int zp_fuzz_on_axis(int32_t axis, const zp_case *c, const zp_verdict *v);

#endif
