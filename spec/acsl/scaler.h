/* The loss scaler as an automaton. ACSL only: nothing here is compiled. Included by
 * ref/num/scaler.h after its type.
 * spec: SCALE-1, SCALE-2, SCALE-3, SCALE-4
 */
#ifndef ZP_SPEC_ACSL_SCALER_H
#define ZP_SPEC_ACSL_SCALER_H

/*@ // the settings that zp_scaler_init accepts
    predicate ScalerValid(integer dynamic, integer log2_scale, integer log2_min, integer log2_max,
                          integer window, integer hysteresis, integer consecutive) =
      0 <= dynamic <= 1 && 0 <= consecutive <= 1 &&
      -126 <= log2_min <= log2_scale <= log2_max <= 126 && 1 <= window && 1 <= hysteresis;

    predicate ScalerOk{L}(zp_scaler *s) =
      ScalerValid(s->dynamic, s->log2_scale, s->log2_min, s->log2_max, s->window, s->hysteresis,
        s->consecutive) &&
      1 <= s->hysteresis_left <= s->hysteresis && -1 <= s->last_overflow < s->iter;

    predicate SameScaler{L1,L2}(zp_scaler *a, zp_scaler *b) =
      \at(a->dynamic,L1) == \at(b->dynamic,L2) && \at(a->log2_scale,L1) == \at(b->log2_scale,L2) &&
      \at(a->log2_min,L1) == \at(b->log2_min,L2) && \at(a->log2_max,L1) == \at(b->log2_max,L2) &&
      \at(a->window,L1) == \at(b->window,L2) && \at(a->hysteresis,L1) == \at(b->hysteresis,L2) &&
      \at(a->consecutive,L1) == \at(b->consecutive,L2) && \at(a->iter,L1) == \at(b->iter,L2) &&
      \at(a->last_overflow,L1) == \at(b->last_overflow,L2) &&
      \at(a->hysteresis_left,L1) == \at(b->hysteresis_left,L2);

    // clean steps before this one since the last overflow, the first of them not counted
    logic integer CleanSteps(integer iter, integer last) = iter - last - 1;
    logic boolean Grows(integer iter, integer last, integer window) =
      CleanSteps(iter, last) > 0 && CleanSteps(iter, last) % window == 0;

    // the three parts of the state that a step changes; a static scale changes nothing
    logic integer NextLog2{L}(zp_scaler *s, integer overflow) =
      s->dynamic == 0 ? s->log2_scale :
      overflow != 0 ? (s->hysteresis_left == 1 && s->log2_scale > s->log2_min ?
        s->log2_scale - 1 : s->log2_scale) :
      Grows(s->iter, s->last_overflow, s->window) && s->log2_scale < s->log2_max ?
        s->log2_scale + 1 : s->log2_scale;
    logic integer NextLeft{L}(zp_scaler *s, integer overflow) =
      s->dynamic == 0 ? s->hysteresis_left :
      overflow != 0 ? (s->hysteresis_left == 1 ? 1 : s->hysteresis_left - 1) :
      s->consecutive == 1 || Grows(s->iter, s->last_overflow, s->window) ? s->hysteresis :
        s->hysteresis_left;
    logic integer NextLast{L}(zp_scaler *s, integer overflow) =
      s->dynamic == 1 && overflow != 0 ? s->iter : s->last_overflow;
    logic integer NextIter{L}(zp_scaler *s) = s->dynamic == 0 ? s->iter : s->iter + 1;
*/

/*@ lemma Scaler_Window: \forall integer last, window; 0 < window ==>
      Grows(last + 1 + window, last, window) == \true;
*/

#endif
