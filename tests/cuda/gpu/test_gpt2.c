/* The parameter lists of GPT-2 that gpu-check measures steps for. */
#include <criterion/criterion.h>

#include "../../../cuda/gpu/gpt2.h"

static int64_t elements(const char *name, int32_t *entries)
{
  zp_param list[ZP_GPT2_ENTRIES];
  int64_t n = 0;
  *entries = zp_gpt2_list(name, list);
  for (int32_t i = 0; i < *entries; i++) {
    cr_assert_eq(list[i].tied, -1);
    n += list[i].numel;
  }
  return n;
}

/* As the published weights have, the head being the token embedding. */
Test(gpt2, sizes_are_those_of_the_published_weights)
{
  int32_t entries;
  cr_assert_eq(elements("124m", &entries), 124439808);
  cr_assert_eq(entries, 148);
  cr_assert_eq(elements("1.5b", &entries), 1557611200);
  cr_assert_eq(entries, ZP_GPT2_ENTRIES);
  cr_assert_eq(elements("other", &entries), 0);
  cr_assert_eq(entries, 0);
}
