/* Draws the pipeline of a plan. */
#ifndef ZP_DRAW_PLAN_DRAW_H
#define ZP_DRAW_PLAN_DRAW_H

#include <stdio.h>

#include "../base/error.h"
#include "../engine/hyper.h"
#include "../plan/config.h"

/* The pipeline for a terminal, at most `columns` wide. */
void zp_plan_ascii(FILE *f, const zp_config *cfg, int32_t columns);

/* Write a Chrome/Perfetto trace, and an SVG picture. 0, or in *err ZP_E_REFUSED where the plan is
 * too large to be drawn, ZP_E_FILE, or ZP_E_MEMORY. */
int zp_plan_trace(const zp_config *cfg, const zp_hyper *hyper, const char *file, zp_error *err);
int zp_plan_svg(const zp_config *cfg, const zp_hyper *hyper, const char *file, zp_error *err);

#endif
