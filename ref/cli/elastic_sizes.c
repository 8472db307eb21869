/* Which sizes a job may have without a change of its global batch. spec: CKPT-5 */
#include <stdio.h>
#include <stdlib.h>

#include "../comm/block.h"
#include "elastic.h"

typedef struct sizes {
  zp_elastic_size *at;
  int64_t n, cap;
} sizes;

static int add(sizes *s, zp_elastic_size size)
{
  if (s->n == s->cap) {
    const int64_t cap = s->cap * 2 + 16;
    void *more = realloc(s->at, (size_t)cap * sizeof *s->at);
    if (more == NULL) return -1;
    s->at = more;
    s->cap = cap;
  }
  s->at[s->n++] = size;
  return 0;
}

static int is_admissible(zp_train_args *a, zp_elastic_size size)
{
  zp_options *o = &a->o;
  zp_refusal why;
  zp_error err = {0};
  o->value[ZP_OPT_PP] = size.pp;
  o->value[ZP_OPT_DP] = size.dp;
  o->value[ZP_OPT_MICRO_BATCHES] = size.micro_batches;
  const zp_config cfg = zp_options_config(o);
  return zp_config_check(&cfg, &why) == 0 &&
         zp_block_check(&cfg, zp_replicas(&o->hyper), &err) == 0;
}

/* Of one pp: each dp that divides the global batch. */
static int add_widths(zp_train_args *a, int32_t pp, int64_t batch, sizes *s)
{
  for (int64_t dp = 1; dp <= batch && dp * pp <= ZP_MAX_RANKS; dp++) {
    const zp_elastic_size size = {pp, (int32_t)dp, batch / dp};
    if (batch % dp == 0 && is_admissible(a, size) && add(s, size) != 0) return -1;
  }
  return 0;
}

static int64_t ranks_of(zp_elastic_size s)
{
  return (int64_t)s.pp * s.dp;
}

/* Does x come before y? */
static int is_before(zp_elastic_size x, zp_elastic_size y, int32_t pp)
{
  if (ranks_of(x) != ranks_of(y)) return ranks_of(x) > ranks_of(y);
  if (abs(x.pp - pp) != abs(y.pp - pp)) return abs(x.pp - pp) < abs(y.pp - pp);
  return x.pp > y.pp;
}

zp_elastic_size *zp_elastic_sizes(zp_train_args *a, int64_t *n)
{
  zp_options *o = &a->o;
  const int32_t pp = (int32_t)o->value[ZP_OPT_PP];
  const int64_t batch = o->value[ZP_OPT_DP] * o->value[ZP_OPT_MICRO_BATCHES];
  const int32_t entries = zp_gpt_entries(&a->shape);
  zp_param *list = calloc((size_t)entries, sizeof *list);
  sizes s = {NULL, 0, 0};
  int failed = list == NULL;
  o->n_params = entries;
  o->optgroups = ZP_GPT_OPTGROUPS;
  o->tied_keys = ZP_GPT_TIED_KEYS;
  o->params = list;
  for (int32_t p = 1; p <= zp_gpt_max_pp(&a->shape) && !failed; p++) {
    zp_gpt_list(&a->shape, p, list, NULL);
    failed = add_widths(a, p, batch, &s) != 0;
  }
  o->params = NULL;
  free(list);
  for (int64_t i = 1; i < s.n; i++) /* few: insertion keeps equal ones in order */
    for (int64_t k = i; k > 0 && is_before(s.at[k], s.at[k - 1], pp); k--) {
      const zp_elastic_size swap = s.at[k];
      s.at[k] = s.at[k - 1];
      s.at[k - 1] = swap;
    }
  *n = s.n;
  if (!failed) return s.at;
  free(s.at);
  return NULL;
}

void zp_elastic_list(const zp_elastic_size *size, int64_t n, char *text, int cap)
{
  int used = snprintf(text, (size_t)cap, "%s", n == 0 ? "none" : "");
  for (int64_t i = 0; i < n && used < cap; i++) {
    if (i > 0 && ranks_of(size[i]) == ranks_of(size[i - 1])) continue;
    used += snprintf(text + used, (size_t)(cap - used), "%s%lld (pp %d, dp %d)", i > 0 ? ", " : "",
                     (long long)ranks_of(size[i]), (int)size[i].pp, (int)size[i].dp);
  }
}
