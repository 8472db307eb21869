/* Theorem 2, the places where gradients are collected: a bucket is reduced when all of it is added,
 * and no other bucket is added in between. Each contract is a theorem about a program that is in
 * memory; the bodies have nothing to do. RED-3, PIPE-4, PIPE-5 */
#include "../../ref/plan/step_internal.h"
#include "../../spec/acsl/layout_lemmas.h"

#include "../../spec/acsl/layout_good.h"

#include "../../spec/acsl/ledger_lemmas.h"
#include "../../spec/acsl/pipeline_lemmas.h"
#include "../../spec/acsl/step_slots.h"

//@ check lemma sentinel_slots: \false;

/* Op r of a program of n ops reduces bucket b of flat group k behind micro-batch mb. cfg is valid
 * and s a stage; gradients are added and reduced where PIPE-5 says, at increasing clocks. */
/*@ requires cfg: Valid(cfg);
    requires program: InPlace(cfg, s, ops, n) && Increasing(ops, n);
    requires reduction: 0 <= r < n && IsReductionOf(ops + r, k, mb, b);
    terminates \true; exits \false;
    assigns \nothing;
    ensures complete: \forall integer x, e; NoAdds(ops, r, n, x, mb, e, k, b) &&
        Added(ops, r, x, mb, e, k, b) == Added(ops, n, x, mb, e, k, b);
    ensures alone: \forall integer a, q; 0 <= a <= q <= r && IsAdd(ops + a, k) &&
        IsAdd(ops + q, k) && SameBucket(ops + a, ops + r) ==> SameBucket(ops + q, ops + r);
    ensures free: \forall integer q; 0 <= q < n && IsAdd(ops + q, k) &&
        OpLater(ops + r, ops + q) ==> r < q;
    check ensures control: \forall integer q; 0 <= q < n && IsAdd(ops + q, k) ==> r < q; */
void collected(const zp_config *cfg, int32_t s, const zp_op *ops, int64_t n, int64_t r, int32_t k,
               int64_t mb, int64_t b)
{
  (void)cfg, (void)s, (void)ops, (void)n, (void)r, (void)k, (void)mb, (void)b;
}

/* What a backward of stage s adds and completes in flat group k, whose capacity is cap. cfg is
 * valid, k not negative. */
/*@ requires cfg: Valid(cfg);
    requires group: 0 <= k && CapIs(cfg, s, k, cap);
    terminates \true; exits \false;
    assigns \nothing;
    ensures added: \forall integer p, e; StageFirst(cfg, s) <= p < StageEnd(cfg, s) &&
        IsElement(cfg, p, e) ==> AddsOf(cfg, s, StageLen(cfg, s), p, e,
          FlatOf(cfg, StageEnd(cfg, s), p), SlotBucket(cfg, s, p, e)) == 1;
    ensures nowhere: \forall integer p, e, b; StageFirst(cfg, s) <= p < StageEnd(cfg, s) &&
        !(IsElement(cfg, p, e) && k == FlatOf(cfg, StageEnd(cfg, s), p) &&
          b == SlotBucket(cfg, s, p, e)) ==>
        AddsOf(cfg, s, StageLen(cfg, s), p, e, k, b) == 0;
    ensures once: \forall integer b; 0 <= b < Collections(cfg, s, k, cap) ==>
        DoneOf(cfg, s, LastOf(cfg, s, k, cap, b), k, b) == 1 &&
        DoneOf(cfg, s, StageLen(cfg, s), k, b) == 1;
    check ensures control: \forall integer b; 0 <= b < Collections(cfg, s, k, cap) ==>
        DoneOf(cfg, s, StageLen(cfg, s), k, b) == 2; */
void backward(const zp_config *cfg, int32_t s, int32_t k, int64_t cap)
{
  (void)cfg, (void)s, (void)k, (void)cap;
}
