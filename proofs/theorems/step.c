/* Family 7: the update of a shard equals that part of the whole update, bit for bit; ranks with
 * equal statistics and equal scalers make equal decisions and keep equal scalers. Each function is
 * a harness: its contract is the theorem, its body makes the calls. */
#include "../../ref/num/optim.h"
#include "../../ref/num/scaler.h"

//@ check lemma sentinel: \false;

/* The contract of zp_optim_step for AdamW. OPT-3, OPT-4 */
/*@ requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: optim->kind == 1;
    requires valid: 0 <= n && \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1))
          && \valid(m + (0 .. n - 1)) && \valid(v + (0 .. n - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1), m + (0
          .. n - 1), v + (0 .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1];
    ensures m: \forall integer i; 0 <= i < n ==> Bits32(m[i]) ==
      AdamMoment1(Bits64(optim->beta1), \old(Bits32(m[i])),
        StepGradient(\old(Bits32(grad[i])), log2_scale, Bits32(clip)));
    ensures v: \forall integer i; 0 <= i < n ==> Bits32(v[i]) ==
      AdamMoment2(Bits64(optim->beta2), \old(Bits32(v[i])),
        StepGradient(\old(Bits32(grad[i])), log2_scale, Bits32(clip)));
    ensures master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
      AdamMaster(Bits64(optim->lr), Bits64(optim->weight_decay), \old(Bits32(master[i])),
        AdamMove(Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
          Bits64(state->beta2_pow), Bits32(m[i]), Bits32(v[i])));
*/
static void adamw(const zp_optim *optim, const zp_optim_state *state, float clip,
                  int32_t log2_scale, int64_t n, const float *grad, float *master, float *m,
                  float *v)
{
  zp_optim_step(optim, state, clip, log2_scale, n, grad, master, m, v);
}

/* AdamW: the shard [at, at + len) of n elements, for any at and len, stored in separate arrays
 * (_s), is updated like the whole. STEP-7 */
/*@ requires cut: 0 <= at && 0 <= len && at + len <= n;
    requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: optim->kind == 1;
    requires whole: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && \valid(m
          + (0 .. n - 1)) && \valid(v + (0 .. n - 1));
    requires shard: \valid_read(grad_s + (0 .. len - 1)) && \valid(master_s + (0 .. len - 1)) &&
          \valid(m_s + (0 .. len - 1)) && \valid(v_s + (0 .. len - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1), m + (0
          .. n - 1), v + (0 .. n - 1),
      grad_s + (0 .. len - 1), master_s + (0 .. len - 1), m_s + (0 .. len - 1), v_s + (0 .. len -
            1));
    requires same_grad: \forall integer i; 0 <= i < len ==>
      Bits32(grad_s[i]) == Bits32(grad[at + i]);
    requires same_master: \forall integer i; 0 <= i < len ==>
      Bits32(master_s[i]) == Bits32(master[at + i]);
    requires same_m: \forall integer i; 0 <= i < len ==>
      Bits32(m_s[i]) == Bits32(m[at + i]);
    requires same_v: \forall integer i; 0 <= i < len ==>
      Bits32(v_s[i]) == Bits32(v[at + i]);
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1], v[0 .. n - 1],
      master_s[0 .. len - 1], m_s[0 .. len - 1], v_s[0 .. len - 1];
    ensures m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) == Bits32(m[at + i]);
    ensures v: \forall integer i; 0 <= i < len ==> Bits32(v_s[i]) == Bits32(v[at + i]);
    ensures master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) == Bits32(master[at +
          i]);
*/
void sharded_adamw(const zp_optim *optim, const zp_optim_state *state, float clip,
                   int32_t log2_scale, int64_t n, int64_t at, int64_t len, const float *grad,
                   float *master, float *m, float *v, const float *grad_s, float *master_s,
                   float *m_s, float *v_s)
{
  adamw(optim, state, clip, log2_scale, n, grad, master, m, v);
  /*@ assert kept_grad: \forall integer i; 0 <= i < len ==>
        Bits32(grad_s[i]) == \at(Bits32(grad_s[i]),Pre); */
  /*@ assert kept_master: \forall integer i; 0 <= i < len ==>
        Bits32(master_s[i]) == \at(Bits32(master_s[i]),Pre); */
  /*@ assert kept_m: \forall integer i; 0 <= i < len ==>
        Bits32(m_s[i]) == \at(Bits32(m_s[i]),Pre); */
  /*@ assert kept_v: \forall integer i; 0 <= i < len ==>
        Bits32(v_s[i]) == \at(Bits32(v_s[i]),Pre); */
Whole:;
  adamw(optim, state, clip, log2_scale, len, grad_s, master_s, m_s, v_s);
  /*@ assert stays_grad: \forall integer i; 0 <= i < n ==>
        Bits32(grad[i]) == \at(Bits32(grad[i]),Whole); */
  /*@ assert stays_master: \forall integer i; 0 <= i < n ==>
        Bits32(master[i]) == \at(Bits32(master[i]),Whole); */
  /*@ assert stays_m: \forall integer i; 0 <= i < n ==>
        Bits32(m[i]) == \at(Bits32(m[i]),Whole); */
  /*@ assert stays_v: \forall integer i; 0 <= i < n ==>
        Bits32(v[i]) == \at(Bits32(v[i]),Whole); */
  /*@ assert whole_m: \forall integer i; 0 <= i < n ==> Bits32(m[i]) ==
        AdamMoment1(Bits64(optim->beta1), \at(Bits32(m[i]),Pre),
        StepGradient(\at(Bits32(grad[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert part_m: \forall integer i; 0 <= i < len ==> Bits32(m[at + i]) ==
        AdamMoment1(Bits64(optim->beta1), \at(Bits32(m_s[i]),Pre),
        StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert shard_m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) ==
        AdamMoment1(Bits64(optim->beta1), \at(Bits32(m_s[i]),Pre),
        StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert whole_v: \forall integer i; 0 <= i < n ==> Bits32(v[i]) ==
        AdamMoment2(Bits64(optim->beta2), \at(Bits32(v[i]),Pre),
        StepGradient(\at(Bits32(grad[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert part_v: \forall integer i; 0 <= i < len ==> Bits32(v[at + i]) ==
        AdamMoment2(Bits64(optim->beta2), \at(Bits32(v_s[i]),Pre),
        StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert shard_v: \forall integer i; 0 <= i < len ==> Bits32(v_s[i]) ==
        AdamMoment2(Bits64(optim->beta2), \at(Bits32(v_s[i]),Pre),
        StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert whole_master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
        AdamMaster(Bits64(optim->lr), Bits64(optim->weight_decay), \at(Bits32(master[i]),Pre),
        AdamMove(Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
          Bits64(state->beta2_pow), Bits32(m[i]), Bits32(v[i]))); */
  /*@ assert part_master: \forall integer i; 0 <= i < len ==> Bits32(master[at + i]) ==
        AdamMaster(Bits64(optim->lr), Bits64(optim->weight_decay), \at(Bits32(master_s[i]),Pre),
        AdamMove(Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
          Bits64(state->beta2_pow), Bits32(m[at + i]), Bits32(v[at + i]))); */
  /*@ assert shard_master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) ==
        AdamMaster(Bits64(optim->lr), Bits64(optim->weight_decay), \at(Bits32(master_s[i]),Pre),
        AdamMove(Bits64(optim->lr), Bits64(optim->eps), Bits64(state->beta1_pow),
          Bits64(state->beta2_pow), Bits32(m_s[i]), Bits32(v_s[i]))); */
  /*@ assert m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) == Bits32(m[at + i]); */
  /*@ assert v: \forall integer i; 0 <= i < len ==> Bits32(v_s[i]) == Bits32(v[at + i]); */
}

/* The contract of zp_optim_step for SGD with momentum. OPT-3, OPT-4 */
/*@ requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: Momentum(optim->kind, Bits64(optim->momentum));
    requires valid: 0 <= n && \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1))
          && \valid(m + (0 .. n - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1), m + (0
          .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1];
    ensures m: \forall integer i; 0 <= i < n ==> Bits32(m[i]) ==
      SgdMoment(Bits64(optim->momentum), \old(Bits32(m[i])),
        StepGradient(\old(Bits32(grad[i])), log2_scale, Bits32(clip)));
    ensures master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
      SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \old(Bits32(master[i])), Bits32(m[i]));
*/
static void momentum(const zp_optim *optim, const zp_optim_state *state, float clip,
                     int32_t log2_scale, int64_t n, const float *grad, float *master, float *m)
{
  zp_optim_step(optim, state, clip, log2_scale, n, grad, master, m, 0);
}

/* SGD with momentum: the shard [at, at + len) of n elements, for any at and len, stored in separate
 * arrays (_s), is updated like the whole. STEP-7 */
/*@ requires cut: 0 <= at && 0 <= len && at + len <= n;
    requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: Momentum(optim->kind, Bits64(optim->momentum));
    requires whole: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1)) && \valid(m
          + (0 .. n - 1));
    requires shard: \valid_read(grad_s + (0 .. len - 1)) && \valid(master_s + (0 .. len - 1)) &&
          \valid(m_s + (0 .. len - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1), m + (0
          .. n - 1),
      grad_s + (0 .. len - 1), master_s + (0 .. len - 1), m_s + (0 .. len - 1));
    requires same_grad: \forall integer i; 0 <= i < len ==>
      Bits32(grad_s[i]) == Bits32(grad[at + i]);
    requires same_master: \forall integer i; 0 <= i < len ==>
      Bits32(master_s[i]) == Bits32(master[at + i]);
    requires same_m: \forall integer i; 0 <= i < len ==>
      Bits32(m_s[i]) == Bits32(m[at + i]);
    terminates \true; exits \false;
    assigns master[0 .. n - 1], m[0 .. n - 1],
      master_s[0 .. len - 1], m_s[0 .. len - 1];
    ensures m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) == Bits32(m[at + i]);
    ensures master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) == Bits32(master[at +
          i]);
*/
void sharded_momentum(const zp_optim *optim, const zp_optim_state *state, float clip,
                      int32_t log2_scale, int64_t n, int64_t at, int64_t len, const float *grad,
                      float *master, float *m, const float *grad_s, float *master_s, float *m_s)
{
  momentum(optim, state, clip, log2_scale, n, grad, master, m);
  /*@ assert kept_grad: \forall integer i; 0 <= i < len ==>
        Bits32(grad_s[i]) == \at(Bits32(grad_s[i]),Pre); */
  /*@ assert kept_master: \forall integer i; 0 <= i < len ==>
        Bits32(master_s[i]) == \at(Bits32(master_s[i]),Pre); */
  /*@ assert kept_m: \forall integer i; 0 <= i < len ==>
        Bits32(m_s[i]) == \at(Bits32(m_s[i]),Pre); */
Whole:;
  momentum(optim, state, clip, log2_scale, len, grad_s, master_s, m_s);
  /*@ assert stays_grad: \forall integer i; 0 <= i < n ==>
        Bits32(grad[i]) == \at(Bits32(grad[i]),Whole); */
  /*@ assert stays_master: \forall integer i; 0 <= i < n ==>
        Bits32(master[i]) == \at(Bits32(master[i]),Whole); */
  /*@ assert stays_m: \forall integer i; 0 <= i < n ==>
        Bits32(m[i]) == \at(Bits32(m[i]),Whole); */
  /*@ assert whole_m: \forall integer i; 0 <= i < n ==> Bits32(m[i]) ==
        SgdMoment(Bits64(optim->momentum), \at(Bits32(m[i]),Pre),
        StepGradient(\at(Bits32(grad[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert shard_m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) ==
        SgdMoment(Bits64(optim->momentum), \at(Bits32(m_s[i]),Pre),
        StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale, Bits32(clip))); */
  /*@ assert whole_master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
        SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \at(Bits32(master[i]),Pre), Bits32(m[i])); */
  /*@ assert shard_master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) ==
        SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \at(Bits32(master_s[i]),Pre), Bits32(m_s[i])); */
  /*@ assert m: \forall integer i; 0 <= i < len ==> Bits32(m_s[i]) == Bits32(m[at + i]); */
}

/* The contract of zp_optim_step for SGD without momentum. OPT-3, OPT-4 */
/*@ requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: Plain(optim->kind, Bits64(optim->momentum));
    requires valid: 0 <= n && \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1));
    terminates \true; exits \false;
    assigns master[0 .. n - 1];
    ensures master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
      SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \old(Bits32(master[i])), StepGradient(\old(Bits32(grad[i])), log2_scale, Bits32(clip)));
*/
static void sgd(const zp_optim *optim, const zp_optim_state *state, float clip, int32_t log2_scale,
                int64_t n, const float *grad, float *master)
{
  zp_optim_step(optim, state, clip, log2_scale, n, grad, master, 0, 0);
}

/* SGD without momentum: the shard [at, at + len) of n elements, for any at and len, stored in
 * separate arrays (_s), is updated like the whole. STEP-7 */
/*@ requires cut: 0 <= at && 0 <= len && at + len <= n;
    requires scalars: \valid_read(optim) && \valid_read(state) && -126 <= log2_scale <= 126;
    requires kind: Plain(optim->kind, Bits64(optim->momentum));
    requires whole: \valid_read(grad + (0 .. n - 1)) && \valid(master + (0 .. n - 1));
    requires shard: \valid_read(grad_s + (0 .. len - 1)) && \valid(master_s + (0 .. len - 1));
    requires apart: \separated(optim, state, grad + (0 .. n - 1), master + (0 .. n - 1),
      grad_s + (0 .. len - 1), master_s + (0 .. len - 1));
    requires same_grad: \forall integer i; 0 <= i < len ==>
      Bits32(grad_s[i]) == Bits32(grad[at + i]);
    requires same_master: \forall integer i; 0 <= i < len ==>
      Bits32(master_s[i]) == Bits32(master[at + i]);
    terminates \true; exits \false;
    assigns master[0 .. n - 1],
      master_s[0 .. len - 1];
    ensures master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) == Bits32(master[at +
          i]);
*/
void sharded_sgd(const zp_optim *optim, const zp_optim_state *state, float clip, int32_t log2_scale,
                 int64_t n, int64_t at, int64_t len, const float *grad, float *master,
                 const float *grad_s, float *master_s)
{
  sgd(optim, state, clip, log2_scale, n, grad, master);
  /*@ assert kept_grad: \forall integer i; 0 <= i < len ==>
        Bits32(grad_s[i]) == \at(Bits32(grad_s[i]),Pre); */
  /*@ assert kept_master: \forall integer i; 0 <= i < len ==>
        Bits32(master_s[i]) == \at(Bits32(master_s[i]),Pre); */
Whole:;
  sgd(optim, state, clip, log2_scale, len, grad_s, master_s);
  /*@ assert stays_grad: \forall integer i; 0 <= i < n ==>
        Bits32(grad[i]) == \at(Bits32(grad[i]),Whole); */
  /*@ assert stays_master: \forall integer i; 0 <= i < n ==>
        Bits32(master[i]) == \at(Bits32(master[i]),Whole); */
  /*@ assert whole_master: \forall integer i; 0 <= i < n ==> Bits32(master[i]) ==
        SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \at(Bits32(master[i]),Pre), StepGradient(\at(Bits32(grad[i]),Pre), log2_scale,
            Bits32(clip))); */
  /*@ assert shard_master: \forall integer i; 0 <= i < len ==> Bits32(master_s[i]) ==
        SgdMaster(Bits64(optim->lr), Bits64(optim->weight_decay),
        \at(Bits32(master_s[i]),Pre), StepGradient(\at(Bits32(grad_s[i]),Pre), log2_scale,
            Bits32(clip))); */
}

/* Two ranks' scalers, equal before a step with one agreed decision, are equal after it.
 * SCALE-3, SCALE-4 */
/*@ requires valid: \valid(a) && \valid(b) && \separated(a, b);
    requires ok: ScalerOk(a) && a->iter < 4611686018427387904;
    requires same: SameScaler{Pre,Pre}(a, b);
    terminates \true; exits \false;
    assigns *a, *b;
    ensures same: SameScaler{Post,Post}(a, b);
*/
void equal_scalers(zp_scaler *a, zp_scaler *b, int32_t overflow)
{
  zp_scaler_update(a, overflow);
  //@ assert kept: SameScaler{Pre,Here}(b, b);
  zp_scaler_update(b, overflow);
}

/* An overflow halves the scale, down to the minimum, if the hysteresis is used up; otherwise it
 * only decrements the remaining hysteresis. SCALE-3 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s) && s->iter < 4611686018427387904;
    requires dynamic: s->dynamic == 1;
    terminates \true; exits \false;
    assigns *s;
    ensures tolerated: \old(s->hysteresis_left) > 1 ==>
      s->log2_scale == \old(s->log2_scale) && s->hysteresis_left == \old(s->hysteresis_left) - 1;
    ensures lowered: \old(s->hysteresis_left) == 1 && \old(s->log2_scale) > s->log2_min ==>
      s->log2_scale == \old(s->log2_scale) - 1;
    ensures minimum: \old(s->hysteresis_left) == 1 && \old(s->log2_scale) == s->log2_min ==>
      s->log2_scale == s->log2_min;
*/
void overflow_once(zp_scaler *s)
{
  zp_scaler_update(s, 1);
}

//@ logic integer Raised(integer e, integer most) = e < most ? e + 1 : most;

/* After an overflow, one clean step and `window` further clean steps, the scale doubles once, up to
 * the maximum; it does not grow before. SCALE-4 */
/*@ requires valid: \valid(s);
    requires ok: ScalerOk(s) && s->window < 2305843009213693952 &&
      s->iter < 2305843009213693952;
    requires dynamic: s->dynamic == 1;
    requires fresh: s->last_overflow == s->iter - 1;
    requires steps: 0 <= clean <= s->window + 1;
    terminates \true; exits \false;
    assigns *s;
    ensures before: clean <= s->window ==> s->log2_scale == \old(s->log2_scale);
    ensures grown: clean == s->window + 1 && \old(s->log2_scale) < s->log2_max ==>
      s->log2_scale == \old(s->log2_scale) + 1;
    ensures maximum: clean == s->window + 1 && \old(s->log2_scale) == s->log2_max ==>
      s->log2_scale == s->log2_max;
*/
void clean_steps(zp_scaler *s, int64_t clean)
{
  /*@ loop invariant range: 0 <= i <= clean;
      loop invariant ok: ScalerOk(s) && s->dynamic == 1;
      loop invariant count: s->iter == \at(s->iter,Pre) + i &&
        s->last_overflow == \at(s->last_overflow,Pre);
      loop invariant fixed: s->window == \at(s->window,Pre) &&
        s->log2_max == \at(s->log2_max,Pre);
      loop invariant before: i <= s->window ==> s->log2_scale == \at(s->log2_scale,Pre);
      loop invariant after: i == s->window + 1 ==>
        s->log2_scale == Raised(\at(s->log2_scale,Pre), s->log2_max);
      loop assigns i, s->log2_scale, s->iter, s->last_overflow, s->hysteresis_left;
      loop variant clean - i; */
  for (int64_t i = 0; i < clean; i++) {
    //@ assert last: i == s->window ==> Grows(s->iter, s->last_overflow, s->window) == \true;
    zp_scaler_update(s, 0);
  }
}
