#include "rank_words.h"

#include <string.h>

static int is_digit(char c)
{
  return c >= '0' && c <= '9';
}

int zp_text_has(const char *text, const char *word)
{
  const size_t n = strlen(word);
  const int by_number = n > 0 && is_digit(word[n - 1]);
  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
    if (!by_number || !is_digit(at[n])) return 1;
  return 0;
}
