/* The words that random calls look for in the text of an error. spec: STEP-3 */
#include <criterion/criterion.h>

#include "../../../ref/engine_cases/rank_words.h"

Test(rank_words, a_number_is_no_other_number_that_begins_with_it)
{
  static const char text[] = "rank 12 (stage 0): entry 10 (w1): micro-batch 21, expected 2";
  static const char *const in[] = {"rank 12", "entry 10", "micro-batch 21", "(w1)", "expected 2"};
  static const char *const not_in[] = {"rank 1", "entry 1", "micro-batch 2", "entry 1 ",
                                       "expect 2"};
  for (int i = 0; i < 5; i++) {
    cr_expect(zp_text_has(text, in[i]), "%s", in[i]);
    cr_expect_not(zp_text_has(text, not_in[i]), "%s", not_in[i]);
  }
}

Test(rank_words, a_later_place_counts)
{
  cr_expect(zp_text_has("entry 12 and entry 1, its neighbor", "entry 1"));
  cr_expect(zp_text_has("entry 12 and entry 1", "entry 1"));
  cr_expect_not(zp_text_has("entry 12 and entry 13", "entry 1"));
}

Test(rank_words, no_word_is_in_every_text)
{
  cr_expect(zp_text_has("", ""));
  cr_expect(zp_text_has("entry 1", ""));
  cr_expect_not(zp_text_has("", "entry 1"));
}
