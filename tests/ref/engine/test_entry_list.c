/* Parameter lists of two ranks, compared. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/engine/entry_list.h"

enum { MOST = 8, ENTRIES = 40000 };

static char *text_of(const zp_param *list, int32_t n, const char *prefix)
{
  const zp_config c = {.params = list, .n_params = n};
  char(*name)[40] = calloc((size_t)n, sizeof *name);
  const char **names = calloc((size_t)n, sizeof *names);
  cr_assert(name && names);
  for (int32_t j = 0; j < n; j++) {
    snprintf(name[j], sizeof name[j], "%s%d", prefix, (int)j);
    names[j] = name[j];
  }
  char *text = zp_entry_list_text(&c, strcmp(prefix, "p") == 0 ? NULL : names);
  cr_assert(text != NULL);
  free(names);
  free(name);
  return text;
}

/* The message about two lists; *lines: how many differences. */
static const char *differ(const zp_param *a, int32_t n, const char *prefix, const zp_param *b,
                          int32_t m, const char *others, int32_t *lines)
{
  static zp_error err;
  char *mine = text_of(a, n, prefix), *first = text_of(b, m, others);
  memset(&err, 0, sizeof err);
  zp_fail(&err, ZP_E_MISMATCH, 1, "x");
  *lines = zp_entry_list_differ(mine, first, MOST, &err);
  free(mine);
  free(first);
  return err.text;
}

/* spec: STEP-10 */
Test(entry_list, each_field_of_each_entry_is_named_with_both_values)
{
  static const char *const names[] = {"numel",   "stage",  "optgroup", "tied",
                                      "sharded", "expert", "frozen",   "fp32"};
  char wanted[80];
  int32_t lines;
  for (int32_t f = 0; f < 8; f++) {
    zp_param a[3] = {{.numel = 5, .tied = -1}, {.numel = 7, .tied = -1}, {.numel = 9, .tied = -1}};
    zp_param b[3];
    memcpy(b, a, sizeof b);
    int32_t *field[] = {NULL,          &a[1].stage,  &a[1].optgroup, &a[1].tied,
                        &a[1].sharded, &a[1].expert, &a[1].frozen,   &a[1].fp32};
    const long long was = f == 0 ? a[1].numel : *field[f];
    if (f == 0) a[1].numel++;
    else ++*field[f];
    const char *text = differ(a, 3, "layer ", b, 3, "layer ", &lines);
    snprintf(wanted, sizeof wanted, "x\n  %s of entry 1 (layer 1): %lld here, %lld on rank 0",
             names[f], was + 1, was);
    cr_assert(lines == 1 && strcmp(text, wanted) == 0, "%s", text);
  }
}

/* spec: STEP-10 */
Test(entry_list, equal_lists_have_no_difference)
{
  const zp_param a[2] = {{.numel = 5, .tied = -1}, {.numel = 0, .tied = -1}};
  int32_t lines;
  cr_assert_str_eq(differ(a, 2, "p", a, 2, "p", &lines), "x");
  cr_assert_eq(lines, 0);
}

/* spec: STEP-10 */
Test(entry_list, the_message_ends_after_eight_differences)
{
  const zp_param a[20] = {{.numel = 5}};
  int32_t lines;
  const char *text = differ(a, 20, "p", a, 20, "q", &lines);
  cr_assert(strstr(text, "name of entry 7 (p7): p7 here, q7 on rank 0\n  ... and others"), "%s",
            text);
  cr_assert(strstr(text, "entry 8") == NULL, "%s", text);
}

/* spec: STEP-10 */
Test(entry_list, entries_that_one_rank_lacks_are_named)
{
  const zp_param a[3] = {{.numel = 5}, {.numel = 6}, {.numel = 7}};
  int32_t lines;
  cr_assert_str_eq(differ(a, 3, "p", a, 1, "p", &lines),
                   "x\n  entry 1 (p1) and later ones: only here");
  cr_assert_str_eq(differ(a, 2, "p", a, 3, "p", &lines),
                   "x\n  entry 2 (p2) and later ones: only on rank 0");
}

/* Its last entries are not exchanged; their hash is. spec: STEP-10 */
Test(entry_list, a_long_list_is_cut_after_a_whole_entry)
{
  zp_param *a = calloc(ENTRIES, sizeof *a);
  cr_assert(a != NULL);
  a[ENTRIES - 1].numel = 1;
  char *text = text_of(a, ENTRIES, "a name of thirty characters   ");
  cr_assert(strlen(text) < ZP_ENTRY_LIST_BYTES && strlen(text) > ZP_ENTRY_LIST_BYTES - 100);
  cr_assert_eq(text[strlen(text) - 1], '\n');
  free(text);
  free(a);
}
