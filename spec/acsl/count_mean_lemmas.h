/* Lemmas about count_mean.h. Include after it. */
#ifndef ZP_SPEC_ACSL_COUNT_MEAN_LEMMAS_H
#define ZP_SPEC_ACSL_COUNT_MEAN_LEMMAS_H

#include "sumsq_frame.h"

/*@ // a member's part lies within its bucket
    lemma Member_Quotient: \forall integer d, dp, ep; 0 <= d < dp && 1 <= ep && dp % ep == 0 ==>
      0 <= d / ep < dp / ep;
    lemma Member_Range{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k; Valid(c) &&
      FlatGood(c, at.pp, lay, k) && Within(c, at.pp, at.dp, at.tp) ==>
      0 <= MemberOf(c, lay, at, k) < lay->flat[k].members;
    lemma Member_Inside: \forall integer r, d, p; 0 <= r < d && 0 <= p ==>
      0 <= Parts(r, p) && Parts(r, p) + p <= Parts(d, p);
    lemma Member_Parts{L}: \forall zp_flat *f, integer b; FlatOk(f) && HasBucket(f, b) ==>
      0 <= PartIn(f, b) && Parts(f->members, PartIn(f, b)) == PaddedIn(f, b);
    lemma Member_Padded{L}: \forall zp_flat *f, integer r, b; FlatOk(f) && HasBucket(f, b) &&
      0 <= r < f->members ==> 0 <= Parts(r, PartIn(f, b)) &&
      Parts(r, PartIn(f, b)) + PartIn(f, b) <= PaddedIn(f, b);
    lemma Member_Within{L}: \forall zp_config *c, zp_layout *lay, zp_coord at, integer k, b;
      Valid(c) && FlatGood(c, at.pp, lay, k) && Within(c, at.pp, at.dp, at.tp) &&
      HasBucket(lay->flat + k, b) ==> 0 <= OwnAt(c, lay, at, k, b) &&
      OwnAt(c, lay, at, k, b) + PartIn(lay->flat + k, b) <=
        LocalIn(lay->flat + k, c->stage, b);
*/

#endif
