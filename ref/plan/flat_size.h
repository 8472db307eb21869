/* The elements that an entry takes in its flat group. With an entry alignment above 1, padding
 * follows each trained, untied entry, so that the next one starts at a multiple of the alignment.
 * The planner plans for a list whose numels are flat sizes.
 * spec: PART-2, PART-7 */
#ifndef ZP_PLAN_FLAT_SIZE_H
#define ZP_PLAN_FLAT_SIZE_H

#include "../../spec/acsl/bounds.h"
#include "../../spec/acsl/partition.h"
#include "config.h"

#define ZP_MAX_ENTRY_ALIGN ((int64_t)1 << 12)

#include "../../spec/acsl/flat_size.h"

/* The flat size of entry p: numel, rounded up to a multiple of `align` if p is trained and untied.
 * 0 <= numel <= 2^40, 1 <= align <= 2^12. spec: PART-2 */
/*@ requires entry: \valid_read(p) && 0 <= p->numel <= ZP_LIMIT_ELEMENTS;
    requires align: 1 <= align <= ZP_LIMIT_ENTRY_ALIGN;
    terminates \true; exits \false;
    assigns \nothing;
    ensures size: \result == FlatSize(p->numel, p->tied, p->frozen, align);
    ensures bounds: p->numel <= \result < p->numel + align;
    ensures whole: p->frozen == 0 && p->tied < 0 ==> Multiple(\result, align);
    ensures same: p->frozen != 0 || 0 <= p->tied || align == 1 ==> \result == p->numel;
    check ensures control: \result == p->numel; */
int64_t zp_flat_size(const zp_param *p, int64_t align);

#endif
