/* The optimizer's table (ref/num/optim.h) as logic functions on bit patterns, one line per line of
 * the table; clipping and the ordered mean. ACSL only: nothing here is compiled.
 * Arguments are patterns: of fp64 for lr, beta, wd, eps, mu, pow and norms; of fp32 for the rest.
 * spec: OPT-1, OPT-2, OPT-3, OPT-4, RED-2
 */
#ifndef ZP_SPEC_ACSL_STEP_H
#define ZP_SPEC_ACSL_STEP_H
#include "ieee.h"

/*@
  logic integer OneLess32(integer x) = Narrow(Sub64(One64, x));              // (float)(1 - x)
  logic integer Decay(integer lr, integer wd) = OneLess32(Mul64(lr, wd));
  logic integer Root(integer pow) = Narrow(Sqrt64(Sub64(One64, pow)));       // (float)sqrt(1 - pow)
  logic integer Size(integer lr, integer pow) = Narrow(Div64(lr, Sub64(One64, pow)));

  // g: grad, unscaled, then clipped
  logic integer Scaled32(integer grad, integer unscale, integer clip) =
    Mul32(Mul32(grad, unscale), clip);
  logic integer StepGradient(integer grad, integer log2_scale, integer clip) =
    Scaled32(grad, Power32(-log2_scale), clip);

  // w - a, with w the decayed master
  logic integer Stepped(integer master, integer decay, integer a) =
    Sub32(Mul32(master, decay), a);

  // SGD, with and without momentum
  predicate Momentum(integer kind, integer mu) = kind == 0 && !Equal64(mu, 0);
  predicate Plain(integer kind, integer mu) = kind == 0 && Equal64(mu, 0);
  logic integer SgdMoment32(integer mu32, integer m, integer g) = Add32(Mul32(mu32, m), g);
  logic integer SgdMoment(integer mu, integer m, integer g) = SgdMoment32(Narrow(mu), m, g);
  logic integer SgdMaster(integer lr, integer wd, integer master, integer g) =
    Stepped(master, Decay(lr, wd), Mul32(Narrow(lr), g));

  // AdamW
  logic integer SquareBits(integer x) = Mul32(x, x);
  logic integer Blend32(integer b, integer c, integer m, integer x) =
    Add32(Mul32(b, m), Mul32(c, x));
  logic integer AdamMoment1(integer beta1, integer m, integer g) =
    Blend32(Narrow(beta1), OneLess32(beta1), m, g);
  logic integer AdamMoment2(integer beta2, integer v, integer g) =
    Blend32(Narrow(beta2), OneLess32(beta2), v, SquareBits(g));
  logic integer AdamMove32(integer size, integer root, integer eps32, integer m, integer v) =
    Mul32(size, Div32(m, Add32(Div32(Sqrt32(v), root), eps32)));
  // m, v: the new moments
  logic integer AdamMove(integer lr, integer eps, integer pow1, integer pow2, integer m, integer
        v) =
    AdamMove32(Size(lr, pow1), Root(pow2), Narrow(eps), m, v);
  logic integer AdamMaster(integer lr, integer wd, integer master, integer move) =
    Stepped(master, Decay(lr, wd), move);

  // min(1, clip / (norm + eps)); clip 0 or below turns clipping off
  logic integer ClipQuotient(integer norm, integer clip, integer eps) =
    Div64(clip, Add64(norm, eps));
  logic integer ClipFactor(integer norm, integer clip, integer eps) =
    Less64(0, clip) && Less64(ClipQuotient(norm, clip, eps), One64)
      ? ClipQuotient(norm, clip, eps) : One64;

  // (float)((double)sum / (double)divisor)
  logic integer OrderedMean(integer sum, integer divisor) =
    Narrow(Div64(Widen(sum), FromInteger64(divisor)));
*/

#endif
