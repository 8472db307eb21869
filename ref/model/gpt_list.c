/* The parameter list: which entries, how large, on which stage. */
#include <stdio.h>
#include <string.h>

#include "../plan/pipeline.h"
#include "gpt_net.h"

zp_gpt_shape zp_gpt_shape_default(void)
{
  return (zp_gpt_shape){.layers = 4, .d_model = 48, .heads = 4, .context = 64, .batch = 2};
}

static int in_range(const char *field, int32_t value, int32_t hi, char *msg, size_t cap)
{
  if (value >= 1 && value <= hi) return 0;
  if (cap > 0)
    snprintf(msg, cap, "gpt: %s is %ld; it must be 1 to %ld", field, (long)value, (long)hi);
  return -1;
}

int zp_gpt_shape_check(const zp_gpt_shape *shape, char *msg, size_t cap)
{
  if (in_range("layers", shape->layers, ZP_GPT_MAX_LAYERS, msg, cap)) return -1;
  if (in_range("d_model", shape->d_model, ZP_GPT_MAX_D_MODEL, msg, cap)) return -1;
  if (in_range("heads", shape->heads, shape->d_model, msg, cap)) return -1;
  if (in_range("context", shape->context, ZP_GPT_MAX_CONTEXT, msg, cap)) return -1;
  if (in_range("batch", shape->batch, ZP_GPT_MAX_BATCH, msg, cap)) return -1;
  if (shape->d_model % shape->heads == 0) return 0;
  if (cap > 0)
    snprintf(msg, cap, "gpt: d_model is %ld; it must be a multiple of heads, %ld",
             (long)shape->d_model, (long)shape->heads);
  return -1;
}

int32_t zp_gpt_entries(const zp_gpt_shape *shape)
{
  return ZP_GPT_BLOCK_ENTRIES * shape->layers + 5;
}

int32_t zp_gpt_max_pp(const zp_gpt_shape *shape)
{
  return shape->layers + 2;
}

int64_t zp_gpt_block_numel(int64_t d_model, int32_t which)
{
  switch (which) {
  case ZP_GPT_QKV_W: return 3 * d_model * d_model;
  case ZP_GPT_QKV_B: return 3 * d_model;
  case ZP_GPT_PROJ_W: return d_model * d_model;
  case ZP_GPT_FC_W:
  case ZP_GPT_OUT_W: return 4 * d_model * d_model;
  case ZP_GPT_FC_B: return 4 * d_model;
  default: return d_model; /* norms, proj.b, out.b */
  }
}

int64_t zp_gpt_numel(const zp_gpt_shape *shape, int32_t entry)
{
  int32_t head = zp_gpt_entries(shape) - 1;
  if (entry == 0 || entry == head) return (int64_t)ZP_GPT_VOCAB * shape->d_model;
  if (entry == 1) return (int64_t)shape->context * shape->d_model;
  if (entry >= head - 2) return shape->d_model;
  return zp_gpt_block_numel(shape->d_model, (entry - 2) % ZP_GPT_BLOCK_ENTRIES);
}

int64_t zp_gpt_elements(const zp_gpt_shape *shape)
{
  int64_t sum = 0;
  for (int32_t j = 0; j < zp_gpt_entries(shape) - 1; j++) sum += zp_gpt_numel(shape, j);
  return sum;
}

double zp_gpt_activation_bytes(const zp_gpt_shape *shape, const zp_config *cfg)
{
  const double layer = 20.0 * shape->d_model + (double)shape->heads * shape->context;
  const double mb =
      4.0 * shape->batch * shape->context * (layer * shape->layers + 3.0 * ZP_GPT_VOCAB);
  return mb * cfg->dp * (double)zp_alive(cfg->pp, cfg->micro_batches, 0);
}

int32_t zp_gpt_first_block(const zp_gpt_shape *shape, int32_t pp, int32_t s)
{
  int32_t before = pp > shape->layers;    /* stages without block at the front */
  int32_t after = pp > shape->layers + 1; /* and at the end */
  int32_t n = pp - before - after;
  int32_t i = s - before;
  if (i <= 0) return 0;
  if (i >= n) return shape->layers;
  return (i * shape->layers + n - 1) / n;
}

static int32_t stage_of_block(const zp_gpt_shape *shape, int32_t pp, int32_t block)
{
  int32_t s = 0;
  while (zp_gpt_first_block(shape, pp, s + 1) <= block) s++;
  return s;
}

static const char *const block_names[ZP_GPT_BLOCK_ENTRIES] = {"ln1.g",  "ln1.b",  "qkv.w", "qkv.b",
                                                              "proj.w", "proj.b", "ln2.g", "ln2.b",
                                                              "fc.w",   "fc.b",   "out.w", "out.b"};

void zp_gpt_name(const zp_gpt_shape *shape, int32_t entry, char name[ZP_GPT_NAME])
{
  static const char *const tail[3] = {"lnf.g", "lnf.b", "wte.head"};
  int32_t from_end = zp_gpt_entries(shape) - entry; /* 1: the last */
  if (entry < 2) snprintf(name, ZP_GPT_NAME, "%s", entry == 0 ? "wte" : "wpe");
  else if (from_end <= 3) snprintf(name, ZP_GPT_NAME, "%s", tail[3 - from_end]);
  else
    snprintf(name, ZP_GPT_NAME, "h%ld.%s", (long)((entry - 2) / ZP_GPT_BLOCK_ENTRIES),
             block_names[(entry - 2) % ZP_GPT_BLOCK_ENTRIES]);
}

static int32_t optgroup_of(const zp_gpt_shape *shape, int32_t entry)
{
  int32_t last = zp_gpt_entries(shape) - 1;
  if (entry <= 1 || entry == last) return 2;
  if (entry >= last - 2) return 1;
  int32_t which = (entry - 2) % ZP_GPT_BLOCK_ENTRIES;
  return which == ZP_GPT_QKV_W || which == ZP_GPT_PROJ_W || which == ZP_GPT_FC_W ||
                 which == ZP_GPT_OUT_W
             ? 0
             : 1;
}

static int is_norm(const zp_gpt_shape *shape, int32_t entry)
{
  const int32_t last = zp_gpt_entries(shape) - 1;
  const int32_t which = (entry - 2) % ZP_GPT_BLOCK_ENTRIES;
  if (entry <= 1 || entry >= last - 2) return entry == last - 1 || entry == last - 2;
  return which == ZP_GPT_LN1_G || which == ZP_GPT_LN1_B || which == ZP_GPT_LN2_G ||
         which == ZP_GPT_LN2_B;
}

void zp_gpt_list(const zp_gpt_shape *shape, int32_t pp, zp_param *params,
                 char (*names)[ZP_GPT_NAME])
{
  int32_t n = zp_gpt_entries(shape);
  for (int32_t j = 0; j < n; j++) {
    zp_param entry = {.numel = zp_gpt_numel(shape, j), .stage = 0, .tied = -1};
    if (j >= n - 3) entry.stage = pp - 1;
    else if (j >= 2) entry.stage = stage_of_block(shape, pp, (j - 2) / ZP_GPT_BLOCK_ENTRIES);
    entry.optgroup = optgroup_of(shape, j);
    entry.fp32 = shape->fp32_norms && is_norm(shape, j);
    if (j == 0 || j == n - 1) entry.tied = 0;
    params[j] = entry;
    if (names) zp_gpt_name(shape, j, names[j]);
  }
}
