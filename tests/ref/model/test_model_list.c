/* Laws of gpt's shape, parameter list and text windows. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../../../ref/model/gpt.h"
#include "../../../ref/model/gpt_data.h"

enum { MAX = 12 * 13 + 5 };

Test(model_list, bad_shapes_are_refused_with_field_value_and_range)
{
  char msg[100];
  struct {
    zp_gpt_shape shape;
    const char *says;
  } bad[] = {
      {{0, 8, 2, 4, 1, 0}, "gpt: layers is 0; it must be 1 to 128"},
      {{129, 8, 2, 4, 1, 0}, "gpt: layers is 129; it must be 1 to 128"},
      {{1, 4096, 2, 4, 1, 0}, "gpt: d_model is 4096; it must be 1 to 2048"},
      {{1, 8, 9, 4, 1, 0}, "gpt: heads is 9; it must be 1 to 8"},
      {{1, 8, 3, 4, 1, 0}, "gpt: d_model is 8; it must be a multiple of heads, 3"},
      {{1, 8, 2, -1, 1, 0}, "gpt: context is -1; it must be 1 to 2048"},
      {{1, 8, 2, 4, 257, 0}, "gpt: batch is 257; it must be 1 to 256"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cr_assert(zp_gpt_shape_check(&bad[i].shape, msg, sizeof msg) == -1);
    cr_assert_str_eq(msg, bad[i].says);
    cr_assert(zp_gpt_shape_check(&bad[i].shape, NULL, 0) == -1);
  }
  zp_gpt_shape good = zp_gpt_shape_default();
  cr_assert(zp_gpt_shape_check(&good, msg, sizeof msg) == 0);
  uint8_t text[64] = {0};
  zp_gpt_options options = {.shape = good, .data = {text, 64, 1}};
  cr_assert(zp_gpt_create(&options, msg, sizeof msg) == NULL);
  cr_assert_str_eq(msg, "gpt: the text has 64 bytes; it must have context + 1 = 65 or more");
}

Test(model_list, default_shape_has_the_documented_size)
{
  zp_gpt_shape shape = zp_gpt_shape_default();
  static zp_param list[MAX];
  static char names[MAX][ZP_GPT_NAME];
  zp_gpt_list(&shape, 1, list, names);
  cr_assert(zp_gpt_entries(&shape) == 53 && zp_gpt_elements(&shape) == 128544);
  const struct {
    int32_t entry;
    const char *name;
    int64_t numel;
    int32_t optgroup;
  } some[] = {{0, "wte", 12288, 2},     {1, "wpe", 3072, 2},     {2, "h0.ln1.g", 48, 1},
              {4, "h0.qkv.w", 6912, 0}, {5, "h0.qkv.b", 144, 1}, {18, "h1.proj.w", 2304, 0},
              {46, "h3.fc.w", 9216, 0}, {47, "h3.fc.b", 192, 1}, {48, "h3.out.w", 9216, 0},
              {50, "lnf.g", 48, 1},     {51, "lnf.b", 48, 1},    {52, "wte.head", 12288, 2}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    cr_assert_str_eq(names[some[i].entry], some[i].name);
    cr_assert(list[some[i].entry].numel == some[i].numel);
    cr_assert(list[some[i].entry].optgroup == some[i].optgroup, "%s", some[i].name);
  }
}

static int same_but_for_the_stage(const zp_param *a, const zp_param *b)
{
  return a->numel == b->numel && a->optgroup == b->optgroup && a->tied == b->tied &&
         a->sharded == b->sharded && a->expert == b->expert && a->frozen == b->frozen &&
         a->fp32 == b->fp32;
}

Test(model_list, every_pp_is_a_valid_configuration_and_changes_stages_only)
{
  static zp_param one[MAX], list[MAX];
  for (int32_t layers = 1; layers <= 13; layers++) {
    zp_gpt_shape shape = {layers, 8, 2, 5, 2, 0};
    int32_t n = zp_gpt_entries(&shape);
    zp_gpt_list(&shape, 1, one, NULL);
    for (int32_t pp = 1; pp <= zp_gpt_max_pp(&shape); pp++) {
      zp_gpt_list(&shape, pp, list, NULL);
      zp_config cfg = {.pp = pp,
                       .dp = 1,
                       .tp = 1,
                       .ep = 1,
                       .optgroups = ZP_GPT_OPTGROUPS,
                       .tied_keys = ZP_GPT_TIED_KEYS,
                       .n_params = n,
                       .micro_batches = 1,
                       .bucket = 64,
                       .align = 1,
                       .params = list};
      zp_refusal why;
      cr_assert(zp_config_check(&cfg, &why) == 0, "pp %d: field %d", pp, why.field);
      cr_assert(list[0].stage == 0 && list[1].stage == 0 && list[n - 1].stage == pp - 1);
      for (int32_t j = 0; j < n; j++) cr_assert(same_but_for_the_stage(&one[j], &list[j]));
    }
  }
}

Test(model_list, fp32_norms_are_the_gains_and_biases_of_layer_norms)
{
  static zp_param list[MAX];
  static char names[MAX][ZP_GPT_NAME];
  const zp_gpt_shape shape = {3, 8, 2, 5, 2, 1};
  const int32_t n = zp_gpt_entries(&shape);
  int32_t norms = 0;
  zp_gpt_list(&shape, 2, list, names);
  for (int32_t j = 0; j < n; j++) {
    norms += list[j].fp32;
    cr_assert_eq(list[j].fp32, strstr(names[j], "ln") != NULL, "%s", names[j]);
  }
  cr_assert_eq(norms, 4 * shape.layers + 2);
}

Test(model_list, blocks_are_spread_evenly_and_in_order)
{
  for (int32_t layers = 1; layers <= 13; layers++) {
    zp_gpt_shape shape = {layers, 8, 2, 5, 2, 0};
    for (int32_t pp = 1; pp <= layers + 2; pp++) {
      int32_t least = layers, most = 0, empty = 0, latest = 0;
      cr_assert(zp_gpt_first_block(&shape, pp, 0) == 0);
      cr_assert(zp_gpt_first_block(&shape, pp, pp) == layers);
      for (int32_t s = 0; s < pp; s++) {
        int32_t n = zp_gpt_first_block(&shape, pp, s + 1) - zp_gpt_first_block(&shape, pp, s);
        cr_assert(n >= 0);
        if (n == 0) {
          cr_assert((s == 0 && pp > layers) || (s == pp - 1 && pp == layers + 2));
          empty++;
          continue;
        }
        least = n < least ? n : least;
        most = n > most ? n : most;
        latest = n;
      }
      cr_assert(most - least <= 1 && empty == (pp > layers ? pp - layers : 0));
      cr_assert(latest == least, "the head's stage has more blocks than another");
    }
  }
}

Test(model_data, windows_depend_on_step_global_micro_batch_and_sequence_only)
{
  uint8_t text[1000];
  for (int i = 0; i < 1000; i++) text[i] = (uint8_t)(i * i / 7);
  zp_gpt_options o = {.shape = {1, 8, 2, 16, 3, 0}, .data = {text, 1000, 5}};
  int32_t seen = 0, token[48], target[48], again[48], first[1000] = {0};
  for (int64_t step = 0; step < 5; step++)
    for (int64_t g = 0; g < 40; g++) {
      zp_gpt_read(&o, step, g, token, target);
      zp_gpt_read(&o, step, g, again, NULL);
      cr_assert(!memcmp(token, again, sizeof token));
      for (int b = 0; b < 3; b++) {
        int at = 0;
        for (; at + 17 <= 1000; at++) { /* a place in the text that has all these bytes */
          int t = 0;
          while (t < 16 && token[16 * b + t] == text[at + t] &&
                 target[16 * b + t] == text[at + t + 1])
            t++;
          if (t == 16) break;
        }
        cr_assert(at + 17 <= 1000, "step %d, micro-batch %d, sequence %d", (int)step, (int)g, b);
        seen += first[at]++ == 0;
      }
    }
  cr_assert(seen > 400, "600 draws of 984 windows gave only %d different ones", seen);
}

Test(model_data, last_byte_of_the_shortest_text_is_a_target)
{
  uint8_t text[5] = {9, 8, 7, 6, 5};
  zp_gpt_options o = {.shape = {1, 8, 2, 4, 1, 0}, .data = {text, 5, 5}};
  for (int64_t step = 0; step < 50; step++) { /* one window only, whatever is drawn */
    int32_t token[4], target[4];
    zp_gpt_read(&o, step, 4, token, target);
    cr_assert(token[0] == 9 && token[3] == 6 && target[0] == 8 && target[3] == 5);
  }
}

Test(model_data, varying_shapes_shorten_the_context_by_micro_batch)
{
  zp_gpt_options o = {.shape = {1, 8, 2, 64, 1, 0}, .vary_shapes = 1};
  cr_assert(zp_gpt_context_of(&o, 3) == 64 && zp_gpt_context_of(&o, 4) == 56);
  cr_assert(zp_gpt_context_of(&o, 5) == 48);
  o.shape.context = 1;
  cr_assert(zp_gpt_context_of(&o, 2) == 1);
  o.shape.context = 64;
  o.vary_shapes = 0;
  cr_assert(zp_gpt_context_of(&o, 5) == 64);
}

Test(model_data, initial_values_are_centred_with_the_stated_deviation)
{
  static float value[12288], head[12288];
  zp_gpt_options o = {.shape = zp_gpt_shape_default(), .init_seed = 3};
  const struct {
    int32_t entry, n;
    double deviation;
  } some[] = {{0, 12288, 0.144338}, {4, 6912, 0.072169}, {12, 9216, 0.025516}};
  for (int i = 0; i < 3; i++) {
    zp_gpt_initial(&o, some[i].entry, value);
    double sum = 0, squares = 0;
    for (int k = 0; k < some[i].n; k++) sum += value[k], squares += (double)value[k] * value[k];
    double mean = sum / some[i].n, root = some[i].deviation / sqrt((double)some[i].n);
    cr_assert(mean < 4 * root && mean > -4 * root);
    cr_assert(squares / some[i].n > 0.9 * some[i].deviation * some[i].deviation);
    cr_assert(squares / some[i].n < 1.1 * some[i].deviation * some[i].deviation);
  }
  zp_gpt_initial(&o, 0, value);
  zp_gpt_initial(&o, 52, head);
  cr_assert(!memcmp(value, head, sizeof head));
  zp_gpt_initial(&o, 2, value);
  zp_gpt_initial(&o, 3, head);
  cr_assert(value[47] == 1.0f && head[47] == 0.0f);
}
