/* Lemmas about exact_most.h. ACSL only. Include after exact_steps.h and exact_sums.h. */
#ifndef ZP_SPEC_ACSL_EXACT_MOST_LEMMAS_H
#define ZP_SPEC_ACSL_EXACT_MOST_LEMMAS_H
#include "exact_most.h"

/*@ lemma Shift4_Five: Shift4(5, 281474976710656) == 288230376151711744;
    lemma Shift4_Top: Shift4(253, 281474976710656) == Shift16(31, Shift4(5, 281474976710656));
    lemma Shift16_Top: Shift16(31, 288230376151711744) == Shift32(15, 65536 * 288230376151711744);
    lemma Shift32_Two: \forall integer q; 0 <= q ==> \forall integer x;
      Shift32(q + 2, x) == Shift32(q, 4294967296 * 4294967296 * x);
    lemma Most_Words: Shift32(17, 1024) == Shift32(15, 4294967296 * 4294967296 * 1024);
    lemma Most_One: MostSquares(1) == Shift4(253, 281474976710656);
    lemma Mant_Times: \forall integer m; 0 <= m <= 16777215 ==> 0 <= (16777215 - m) * m;
    lemma Mant_Less: \forall integer m; 0 <= m <= 16777215 ==> m * m <= 16777215 * m;
    lemma Mant_Positive: \forall integer m; 0 <= m ==> 0 <= m * m;
    lemma Square_Factor: \forall integer m; 0 <= m < 16777216 ==> 0 <= m * m < 281474976710656;
    lemma Mant_Range: \forall integer u; 0 <= u ==> 0 <= Mant32(u) < 16777216;
    lemma Exp_Range: \forall integer u; 0 <= u && BiasedExp32(u) < 255 ==> 0 <= Exp32(u) <= 253;
    lemma Square_UpTo: \forall integer e; 0 <= e <= 253 ==>
      Shift4(e, 281474976710656) <= Shift4(253, 281474976710656);
    lemma Square_Under: \forall integer e, x; 0 <= e && 0 <= x < 281474976710656 ==>
      0 <= Shift4(e, x) <= Shift4(e, 281474976710656);
    lemma Square_Top: \forall integer e, x; 0 <= e <= 253 && 0 <= x < 281474976710656 ==>
      0 <= Shift4(e, x) <= Shift4(253, 281474976710656);
    lemma Square_Most: \forall integer u; 0 <= u && BiasedExp32(u) < 255 ==>
      0 <= Square32(u) <= Shift4(253, 281474976710656);
    lemma Counted_Most: \forall integer u; 0 <= u ==> 0 <= Counted32(u) <= MostSquares(1);
    lemma Most_SumOf: \forall integer x, a, b; MostJoin(x, a, b) ==>
      SumOf(1024 * x, 1024 * a, 1024 * b);
    lemma Most_Next: \forall integer n; MostSquares(n + 1) == MostSquares(n) + MostSquares(1);
*/

/* after the lemmas that they use */
#include "exact_most_count.h"

#endif
