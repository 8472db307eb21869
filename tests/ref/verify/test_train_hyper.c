/* What a training run keeps, and what it takes over, of the hyperparameters in a checkpoint.
 * spec: CKPT-10, OPT-8 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../../../ref/verify/train_hyper.h"

/* Of the checkpoint; and of the run that loads it, which has another optimizer. */
static zp_train_hyper saved_one(void)
{
  zp_train_hyper h = {.schedule = {ZP_LR_COSINE, 1, 5, 1.0 / 3}};
  h.peak = (zp_hyper){.groups = 2, .clip = 0.1, .clip_eps = 1e-5};
  h.peak.optim[0] = (zp_optim){ZP_OPTIM_ADAMW, 0.1, 0.8, 0.9, 1e-7, 0.3, 0};
  h.peak.optim[1] = (zp_optim){ZP_OPTIM_SGD, 0.7, 0, 0, 1, 0, 0.6};
  return h;
}

static zp_train_hyper own(uint32_t set)
{
  zp_train_hyper h = {.schedule = {ZP_LR_LINEAR, 2, 9, 0}, .set = set};
  h.peak = (zp_hyper){.groups = 1, .clip = 1, .clip_eps = 1e-6, .replicas = 2};
  h.peak.optim[0] = (zp_optim){ZP_OPTIM_SGD, 0.5, 0, 0, 1, 0, 0};
  cr_assert_eq(zp_scaler_init(&h.peak.scaler, 0, 0, 0, 0, 1, 1, 0), 0);
  return h;
}

static char *text_of(const zp_train_hyper *h, int64_t step)
{
  json_t *root = json_object();
  char *text;
  cr_assert_eq(zp_train_hyper_save(h, step, root), 0);
  text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  return text;
}

static int same(const zp_optim *a, const zp_optim *b)
{
  return a->kind == b->kind && a->lr == b->lr && a->beta1 == b->beta1 && a->beta2 == b->beta2 &&
         a->eps == b->eps && a->weight_decay == b->weight_decay && a->momentum == b->momentum;
}

/* Each combination of what the user set. */
Test(train_hyper, a_checkpoint_replaces_what_the_user_did_not_set)
{
  const zp_train_hyper from = saved_one();
  char *text = text_of(&from, 3);
  for (uint32_t set = 0; set < 32; set++) {
    const zp_train_hyper mine = own(set);
    zp_train_hyper h = mine;
    zp_error err = {0};
    const int all = (set & ZP_SET_OPTIMIZERS) != 0;
    zp_optim want[2] = {from.peak.optim[0], from.peak.optim[1]};
    if (set & ZP_SET_LR) want[0].lr = want[1].lr = mine.peak.optim[0].lr;
    if (all) want[0] = mine.peak.optim[0];
    cr_assert_eq(zp_train_hyper_restore(&h, text, &err), 0, "%s", err.text);
    cr_assert_eq(h.peak.groups, all ? 1 : 2, "%u", set);
    for (int32_t g = 0; g < h.peak.groups; g++)
      cr_assert(same(&h.peak.optim[g], &want[g]), "%u, optimizer %d", set, (int)g);
    cr_assert_eq(h.peak.clip, set & ZP_SET_CLIP ? 1 : 0.1);
    cr_assert_eq(h.peak.clip_eps, set & ZP_SET_CLIP_EPS ? 1e-6 : 1e-5);
    const zp_lr_schedule *s = set & ZP_SET_SCHEDULE ? &mine.schedule : &from.schedule;
    cr_assert(h.schedule.kind == s->kind && h.schedule.warmup == s->warmup &&
              h.schedule.total == s->total && h.schedule.floor == s->floor);
    cr_assert_eq(h.peak.replicas, 2);
    cr_assert_eq(h.set, set);
  }
  free(text);
}

Test(train_hyper, the_saved_numbers_are_those_of_the_next_step)
{
  const zp_train_hyper from = saved_one();
  char *text = text_of(&from, 3);
  json_t *root = json_loads(text, 0, NULL);
  const json_t *optim = json_object_get(json_object_get(root, "hyper"), "optim");
  for (size_t g = 0; g < 2; g++) {
    const char *lr = json_string_value(json_object_get(json_array_get(optim, g), "lr"));
    cr_assert_eq(strtod(lr, NULL), zp_train_hyper_at(&from, 3).optim[g].lr);
    cr_assert_neq(strtod(lr, NULL), from.peak.optim[g].lr);
  }
  json_decref(root);
  free(text);
}

/* As `train` wrote it before it had schedules. */
Test(train_hyper, a_checkpoint_without_hyperparameters_changes_nothing)
{
  const zp_train_hyper mine = own(0);
  zp_train_hyper h = mine;
  zp_error err = {0};
  cr_assert_eq(zp_train_hyper_restore(&h, "{\"gpt\":{},\"run\":{\"clip\":9}}", &err), 0);
  cr_assert_eq(zp_train_hyper_restore(&h, NULL, &err), 0);
  cr_assert(same(&h.peak.optim[0], &mine.peak.optim[0]) && h.peak.groups == 1 && h.peak.clip == 1);
  cr_assert_eq(h.schedule.kind, ZP_LR_LINEAR);
}

/* `text` with the first `was` replaced by `now`; malloc'ed. */
static char *changed(const char *text, const char *was, const char *now)
{
  const char *at = strstr(text, was);
  char *out = calloc(1, strlen(text) + strlen(now) + 1);
  cr_assert_not_null(at, "%s in %s", was, text);
  memcpy(out, text, (size_t)(at - text));
  strcat(out, now);
  strcat(out, at + strlen(was));
  return out;
}

Test(train_hyper, a_damaged_member_is_an_error_and_changes_nothing)
{
  static const char *const wrong[][2] = {{"cosine:1,5", "cosine:5,1"},
                                         {"\"schedule\"", "\"absent\""},
                                         {"\"text\"", "\"absent\""},
                                         {"\"peak\"", "\"absent\""},
                                         {"\"peak\":[\"0x1.", "\"peak\":[\"x.0"},
                                         {"\"peak\":[\"0x1.", "\"peak\":[\"-0x1."},
                                         {"\"peak\":[", "\"peak\":[\"0x1p+0\","},
                                         {"\"clip\":\"", "\"clip\":\"-"}};
  const zp_train_hyper from = saved_one(), mine = own(0);
  char *text = text_of(&from, 3);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    zp_train_hyper h = mine;
    zp_error err = {0};
    char *damaged = changed(text, wrong[i][0], wrong[i][1]);
    cr_assert_eq(zp_train_hyper_restore(&h, damaged, &err), ZP_E_FILE, "%s", damaged);
    cr_assert_not_null(strstr(err.text, "CKPT-4"), "%s", err.text);
    cr_assert(same(&h.peak.optim[0], &mine.peak.optim[0]) && h.peak.clip == 1);
    cr_assert_eq(h.schedule.kind, ZP_LR_LINEAR);
    free(damaged);
  }
  free(text);
}
