#include "agree.h"
#include "../../spec/acsl/bounds.h"

/* What a rank adds for word k of its number.
 * k: 0 to 3. word: 0 to 65535. rank, words: as for zp_agree_words. Errors: none.
 * spec: STAT-6
 */
/*@ requires valid: \valid(words + (0 .. 15));
    requires k: 0 <= k < 4;
    requires word: 0 <= word < 65536;
    requires rank: 0 <= rank < ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns words[k], words[k + 4], words[k + 8], words[k + 12];
    ensures word: words[k] == word;
    ensures square: words[k + 4] == WordSquare(word);
    ensures first: words[k + 8] == (rank == 0 ? word : 0);
    ensures moment: words[k + 12] == PerRank(rank, word);
*/
static void put_word(int32_t k, int64_t word, int32_t rank, int64_t words[16])
{
  words[k] = word;
  words[k + 4] = word * word;
  words[k + 8] = rank == 0 ? word : 0;
  words[k + 12] = rank * word;
}

void zp_agree_words(uint64_t x, int32_t rank, int64_t words[16])
{
  put_word(0, (int64_t)(x % 65536u), rank, words);
  put_word(1, (int64_t)(x / 65536u % 65536u), rank, words);
  put_word(2, (int64_t)(x / 4294967296u % 65536u), rank, words);
  put_word(3, (int64_t)(x / 281474976710656u % 65536u), rank, words);
}

/* 1 if the sums of one word are those of ranks that all hold the word `first`, else 0.
 * ranks: 1 to 2^20. Errors: none.
 * spec: STAT-6
 */
/*@ requires ranks: 1 <= ranks <= ZP_LIMIT_RANKS;
    terminates \true; exits \false;
    assigns \nothing;
    ensures same: \result == 1 <==> SameWords(ranks, sum, squares, first);
    ensures bit: \result == 0 || \result == 1;
*/
static int32_t same_word(int64_t ranks, int64_t sum, int64_t squares, int64_t first)
{
  if (first < 0 || first > 65535) return 0;
  //@ assert square: 0 <= first * first <= 4294836225;
  if (sum != ranks * first) return 0;
  return squares == ranks * (first * first) ? 1 : 0;
}

int32_t zp_agree_same(const int64_t sums[16], int64_t ranks)
{
  if (same_word(ranks, sums[0], sums[4], sums[8]) == 0) return 0;
  if (same_word(ranks, sums[1], sums[5], sums[9]) == 0) return 0;
  if (same_word(ranks, sums[2], sums[6], sums[10]) == 0) return 0;
  return same_word(ranks, sums[3], sums[7], sums[11]);
}
