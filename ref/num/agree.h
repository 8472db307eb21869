/* Do all ranks hold the same 64-bit number? Each adds 16 words to a sum over the ranks, from which
 * all of them know. */
#ifndef ZP_REF_NUM_AGREE_H
#define ZP_REF_NUM_AGREE_H
#include <stdint.h>

#include "../../spec/acsl/agree.h"
#include "../../spec/acsl/bounds.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Of each of the number's four words of 16 bits, over the ranks: words 0 … 3 the sum, 4 … 7 the sum
 * of squares, 8 … 11 rank 0's word, 12 … 15 the sum of rank times word. With 2^20 ranks every sum
 * is below 2^56. */
enum { ZP_AGREE_WORDS = 16 };

/* What a rank adds to the sums.
 * rank: 0 to 2^20 - 1. words: (16). Errors: none.
 * spec: STAT-6
 */
/*@ requires valid: \valid(words + (0 .. 15));
    requires rank: 0 <= rank < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns words[0 .. 15];
    ensures word_0: words[0] == Word16(x, 0);
    ensures square_0: words[4] == WordSquare(Word16(x, 0));
    ensures first_0: words[8] == (rank == 0 ? Word16(x, 0) : 0);
    ensures moment_0: words[12] == PerRank(rank, Word16(x, 0));
    ensures word_1: words[1] == Word16(x, 1);
    ensures square_1: words[5] == WordSquare(Word16(x, 1));
    ensures first_1: words[9] == (rank == 0 ? Word16(x, 1) : 0);
    ensures moment_1: words[13] == PerRank(rank, Word16(x, 1));
    ensures word_2: words[2] == Word16(x, 2);
    ensures square_2: words[6] == WordSquare(Word16(x, 2));
    ensures first_2: words[10] == (rank == 0 ? Word16(x, 2) : 0);
    ensures moment_2: words[14] == PerRank(rank, Word16(x, 2));
    ensures word_3: words[3] == Word16(x, 3);
    ensures square_3: words[7] == WordSquare(Word16(x, 3));
    ensures first_3: words[11] == (rank == 0 ? Word16(x, 3) : 0);
    ensures moment_3: words[15] == PerRank(rank, Word16(x, 3));
*/
void zp_agree_words(uint64_t x, int32_t rank, int64_t words[16]);

/* 1 if the sums are those of ranks that all hold rank 0's number, else 0.
 * sums: (16), the sum over the ranks of zp_agree_words. ranks: 1 to 2^20. Errors: none.
 * spec: STAT-6
 */
/*@ requires valid: \valid_read(sums + (0 .. 15));
    requires ranks: 1 <= ranks <= ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures same: \result == 1 <==>
      (SameWords(ranks, sums[0], sums[4], sums[8]) &&
       SameWords(ranks, sums[1], sums[5], sums[9]) &&
       SameWords(ranks, sums[2], sums[6], sums[10]) &&
       SameWords(ranks, sums[3], sums[7], sums[11]));
    ensures bit: \result == 0 || \result == 1;
*/
int32_t zp_agree_same(const int64_t sums[16], int64_t ranks);

#ifdef __cplusplus
}
#endif
#endif
