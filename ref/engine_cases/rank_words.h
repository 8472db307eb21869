/* Words that the text of an error must have. */
#ifndef ZP_ENGINE_CASES_RANK_WORDS_H
#define ZP_ENGINE_CASES_RANK_WORDS_H

/* 1: the text has the word. If a number ends it, no other digit follows: "entry 1" is not a word of
 * "entry 12". */
int zp_text_has(const char *text, const char *word);

#endif
