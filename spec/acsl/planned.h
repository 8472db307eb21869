/* lay is the layout of its stage. Include after ref/plan/program.h. */
#ifndef ZP_SPEC_ACSL_PLANNED_H
#define ZP_SPEC_ACSL_PLANNED_H

/*@ predicate Planned{L}(zp_config *c, zp_layout *lay) =
      Valid(c) && 0 <= lay->stage < c->pp && LayoutOf(c, lay->stage, lay); */

#endif
