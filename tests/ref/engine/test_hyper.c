/* The digest of hyperparameters, what a rank reports when they differ, and their text in a
 * checkpoint. spec: STAT-6, CKPT-10 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/engine/engine_parts.h"
#include "../../../ref/num/agree.h"

static zp_hyper some(void)
{
  zp_hyper h = {.groups = 2, .clip = 1, .clip_eps = 1e-6};
  h.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 1e-3, 0.9, 0.95, 1e-8, 0.1, 0};
  h.optim[1] = (zp_optim){ZP_OPTIM_SGD, 1e-2, 0, 0, 1, 0, 0.9};
  return h;
}

static uint64_t digest_of(const zp_hyper *h)
{
  return zp_hyper_digest(h->optim, h->groups, h->clip, h->clip_eps);
}

/* Each bit of each number, one at a time. */
Test(hyper, one_other_bit_is_another_digest)
{
  const zp_hyper was = some();
  for (int32_t i = 0; i < 2 * ZP_OPTIM_FIELDS + 2; i++) {
    for (int32_t bit = 0; bit < 64; bit++) {
      zp_hyper h = was;
      const int32_t g = i / ZP_OPTIM_FIELDS;
      char *at = i == 2 * ZP_OPTIM_FIELDS ? (char *)&h.clip
                 : i == 2 * ZP_OPTIM_FIELDS + 1
                     ? (char *)&h.clip_eps
                     : (char *)&h.optim[g] + zp_optim_fields[i % ZP_OPTIM_FIELDS].offset;
      at[bit / 8] ^= (char)(1 << bit % 8);
      cr_assert_neq(digest_of(&h), digest_of(&was), "number %d, bit %d", (int)i, (int)bit);
    }
  }
}

Test(hyper, another_kind_or_count_is_another_digest)
{
  zp_hyper h = some();
  h.groups = 1;
  cr_assert_neq(digest_of(&h), zp_hyper_digest(some().optim, 2, 1, 1e-6));
  h = some();
  h.optim[1].kind = ZP_OPTIM_ADAMW;
  cr_assert_neq(digest_of(&h), zp_hyper_digest(some().optim, 2, 1, 1e-6));
}

/* What this rank reports: of `ranks` ranks, those of the bit mask have another digest. */
static void report(int32_t ranks, uint32_t mask, int32_t rank, zp_error *err)
{
  const uint64_t x = 0x0123456789abcdefu, y = 0xfedc456700abcd00u;
  int64_t sums[ZP_AGREE_WORDS] = {0}, words[ZP_AGREE_WORDS];
  for (int32_t r = 0; r < ranks; r++) {
    zp_agree_words(mask >> r & 1 ? y : x, r, words);
    for (int32_t k = 0; k < ZP_AGREE_WORDS; k++) sums[k] += words[k];
  }
  memset(err, 0, sizeof *err);
  cr_assert_eq(zp_hyper_differ(err, rank, ranks, "here", mask >> rank & 1 ? y : x, sums),
               ZP_E_MISMATCH);
}

/* With two ranks each is the other's only other rank: it is rank 1. */
Test(hyper, the_rank_that_alone_differs_is_named)
{
  zp_error err;
  char want[80];
  for (int32_t ranks = 2; ranks <= 7; ranks++)
    for (uint32_t mask = 1; mask < (1u << ranks) - 1; mask++) {
      const int32_t n = __builtin_popcount(mask), rank = (int32_t)(mask % (uint32_t)ranks);
      const int32_t odd = ranks == 2       ? 1
                          : n == 1         ? __builtin_ctz(mask)
                          : n == ranks - 1 ? __builtin_ctz(~mask)
                                           : -1;
      report(ranks, mask, rank, &err);
      snprintf(want, sizeof want, "differ: rank %d's from those of all other ranks", (int)odd);
      if (odd < 0) snprintf(want, sizeof want, "differ: those of several ranks from rank 0's");
      cr_assert_not_null(strstr(err.text, want), "%d ranks, mask %x: %s", (int)ranks, mask,
                         err.text);
      snprintf(want, sizeof want, "this rank has %s",
               (mask >> rank & 1) == (mask & 1) ? "rank 0's (" : "others than rank 0 (");
      cr_assert_not_null(strstr(err.text, want), "%s", err.text);
    }
}

/* ---- Change ---------------------------------------------------------------------------------- */

/* What the refusal names, or "" if the change is allowed. */
static const char *change(const zp_hyper *to)
{
  static zp_error err;
  zp_hyper from = some();
  zp_scaler_init(&from.scaler, 1, 3, 0, 20, 2, 1, 0);
  memset(&err, 0, sizeof err);
  zp_hyper_check_change(&from, to, 3, &err);
  return err.status ? err.text : "";
}

Test(hyper, numbers_may_change_and_nothing_else)
{
  zp_hyper was = some(), h;
  zp_scaler_init(&was.scaler, 1, 3, 0, 20, 2, 1, 0);
  h = was;
  h.optim[0].lr = h.optim[1].momentum = h.clip = h.clip_eps = 0.25;
  h.replicas = 1; /* as 0 */
  cr_assert_str_eq(change(&h), "");
  h.optim[1].lr = -1;
  cr_assert_not_null(strstr(change(&h), "rank 3: options.hyper.optim[1].lr is -1"));
  h = was, h.groups = 1;
  cr_assert_not_null(strstr(change(&h), "hyper.groups is 1, and"));
  h = was, h.optim[1].kind = ZP_OPTIM_ADAMW;
  cr_assert_not_null(strstr(change(&h), "hyper.optim[1].kind is 1, and"));
  h = was, h.replicas = 2;
  cr_assert_not_null(strstr(change(&h), "hyper.replicas is 2, and"));
  h = was, h.entry_align = 64;
  cr_assert_not_null(strstr(change(&h), "hyper.entry_align is 64, and"));
  h = was, h.slots = 3;
  cr_assert_not_null(strstr(change(&h), "hyper.slots is 3, and"));
  h = was, h.fp32_gradients = 1;
  cr_assert_not_null(strstr(change(&h), "hyper.fp32_gradients is 1, and"));
  h = was, h.scaler.iter++;
  cr_assert_not_null(strstr(change(&h), "hyper.scaler is not the one"));
}

/* ---- In checkpoints -------------------------------------------------------------------------- */

/* Numbers whose decimal text would lose bits. */
static zp_hyper saved(void)
{
  zp_hyper h = some();
  h.optim[0].lr = 1e-3 / 3;
  h.optim[1].momentum = 1.0 / 7;
  h.clip_eps = 5e-324;
  zp_scaler_init(&h.scaler, 1, 3, 0, 20, 2, 1, 0);
  return h;
}

/* The engine that loads has other numbers, and a scaler and replicas of its own. */
static zp_hyper loading(void)
{
  zp_hyper h = some();
  h.optim[0].lr = 7;
  h.optim[1].weight_decay = 3;
  h.clip = 9;
  h.replicas = 4;
  zp_scaler_init(&h.scaler, 0, 5, 5, 5, 1, 1, 0);
  return h;
}

Test(hyper, a_text_restores_every_bit_but_no_scaler_and_no_replicas)
{
  const zp_hyper from = saved();
  zp_hyper to = loading();
  zp_error err = {0};
  char *text = zp_engine_hyper_text(&from, 0);
  cr_assert_eq(zp_engine_hyper_read(text, 3, 0, &to, &err), 0, "%s", err.text);
  cr_assert_eq(digest_of(&to), digest_of(&from));
  cr_assert_eq(to.replicas, 4);
  cr_assert_eq(to.scaler.log2_scale, 5);
  free(text);
}

Test(hyper, texts_without_them_or_of_other_optimizers_change_nothing)
{
  zp_hyper from = saved(), to = loading();
  zp_error err = {0};
  const uint64_t was = digest_of(&to);
  char *text[2];
  const char *const none[] = {"", "{}", "[]", "no JSON", "{\"model\": {\"dim\": 3}}"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    cr_assert_eq(zp_engine_hyper_read(none[i], 3, 0, &to, &err), 0, "%s", none[i]);
  from.groups = 1;
  text[0] = zp_engine_hyper_text(&from, 0);
  from = saved();
  from.optim[1].kind = ZP_OPTIM_ADAMW;
  text[1] = zp_engine_hyper_text(&from, 0);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(zp_engine_hyper_read(text[i], 3, 0, &to, &err), 0);
    free(text[i]);
  }
  cr_assert_eq(digest_of(&to), was);
}

/* Each part of a text, replaced by something else. */
Test(hyper, a_number_that_is_missing_or_out_of_range_is_refused)
{
  static const char *const wrong[][2] = {
      {"\"lr\":\"0x", "\"lr\":\"-0x"},   {"\"lr\"", "\"rl\""},
      {"\"beta2\":\"", "\"beta2\":\"x"}, {"\"clip\":\"", "\"clip\":\"nan"},
      {"\"clip_eps\"", "\"clip_sep\""},  {"\"adamw\"", "\"adam\""},
      {"\"optim\"", "\"optims\""}};
  const zp_hyper from = saved();
  char *text = zp_engine_hyper_text(&from, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char changed[4096];
    zp_hyper to = loading();
    const uint64_t was = digest_of(&to);
    zp_error err = {0};
    const char *at = strstr(text, wrong[i][0]);
    cr_assert_not_null(at, "%s", wrong[i][0]);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, wrong[i][1],
             at + strlen(wrong[i][0]));
    cr_assert_eq(zp_engine_hyper_read(changed, 3, 0, &to, &err), ZP_E_FILE, "%s", changed);
    cr_assert_not_null(strstr(err.text, "rank 3: the manifest's hyperparameters"), "%s", err.text);
    cr_assert_eq(digest_of(&to), was);
  }
  free(text);
}
