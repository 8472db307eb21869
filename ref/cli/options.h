/* The options that all sub-commands have, the configuration file, and messages about refusals.
 *
 * Use: zp_options_init; put zp_options_child (and zp_hyper_child for commands that train) among the
 * argp children, with the zp_options as input; zp_cli_parse; zp_options_finish; fill in a parameter
 * list when none was configured; zp_options_check. */
#ifndef ZP_CLI_OPTIONS_H
#define ZP_CLI_OPTIONS_H

#include <argp.h>
#include <stdint.h>

#include "../base/error.h"
#include "../engine/hyper.h"
#include "../model/synth.h"
#include "../plan/config.h"
#include "../verify/config_text.h"
#include "cli.h"
#include "numbers.h"

/* Values of fields, by place; see the table in options.c. */
typedef enum zp_opt {
  ZP_OPT_PP = 0,
  ZP_OPT_DP,
  ZP_OPT_TP,
  ZP_OPT_EP,
  ZP_OPT_REPLICAS,
  ZP_OPT_STAGE,
  ZP_OPT_MICRO_BATCHES,
  ZP_OPT_BUCKET,
  ZP_OPT_ALIGN,
  ZP_OPT_ENTRY_ALIGN,
  ZP_OPT_SLOTS,
  ZP_OPT_PRECISION,      /* zp_dtype */
  ZP_OPT_REDUCE,         /* zp_reduce */
  ZP_OPT_FP32_GRADIENTS, /* 0 or 1 */
  ZP_OPT_DYNAMIC_SHAPES, /* 0 or 1 */
  ZP_OPT_STEPS,
  ZP_OPT_SEED,
  ZP_OPTS
} zp_opt;

enum { ZP_NAME_BYTES = 48 };

/* Parts of the hyperparameters; the optimizer's only flag is --lr. */
enum {
  ZP_HYPER_OPTIMIZER = 0,
  ZP_HYPER_CLIP = 1,
  ZP_HYPER_SCALE = 2,
  ZP_HYPER_CLIP_EPS = 3,
  ZP_HYPERS
};

typedef struct zp_options {
  const char *command;     /* for messages: "zeroproof train" */
  const char *config_file; /* or NULL */
  int32_t background_save; /* plan: 1: count the copy of a save in the background */
  int32_t json;            /* --json */
  int64_t value[ZP_OPTS];
  uint8_t by_flag[ZP_OPTS]; /* 1: the command line set it */
  uint8_t by_file[ZP_OPTS]; /* 1: the file set it */
  int32_t *groups;          /* --groups: optimizer groups K of each stage, or NULL */
  int32_t n_groups;
  int32_t groups_by_flag;
  /* From the file's "params"; NULL when it has none. Filled in by the command otherwise. */
  zp_param *params;
  char (*names)[ZP_NAME_BYTES];
  zp_synth_mask *masks; /* [n_params] "unused", "unused_percent"; NULL when no entry has them */
  int32_t n_params, optgroups, tied_keys; /* optgroups, tied_keys: -1 until known */
  /* Optimizer, clipping, loss scale. */
  zp_hyper hyper;
  uint8_t hyper_by_flag[ZP_HYPERS], hyper_by_file[ZP_HYPERS];
} zp_options;

/* --pp … --config, --json. Input: zp_options *. */
extern const struct argp zp_options_child;
/* --lr --clip --loss-scale. Input: zp_options *. */
extern const struct argp zp_hyper_child;

/* Defaults: pp, dp, tp, ep, replicas 1; stage 2; 4 micro-batches; buckets of 4Ki elements, align 1;
 * bf16; exact; 1 step; seed 1; AdamW 1e-3, clip 1, dynamic loss scale from 2^16. */
void zp_options_init(zp_options *o, const char *command);
void zp_options_free(zp_options *o);

/* Reads --config and merges: the command line overrides the file. 0, or an exit code after a
 * message on standard error. */
int zp_options_finish(zp_options *o);

/* The planner's configuration from o; params borrows o->params. Sets o->hyper.replicas,
 * entry_align, slots and fp32_gradients. Applies
 * --groups: stage s has K_s optimizer groups (its entries take turns; tied entries stay in group
 * 0). */
zp_config zp_options_config(zp_options *o);

/* zp_config_check and zp_block_check in words; and that every stage can use the K of --groups. 0,
 * or ZP_EXIT_REFUSED after a message on standard error. */
int zp_options_check(const zp_options *o, const zp_config *cfg);

/* ", 2 replicas", or nothing for one. Returns text. */
const char *zp_replicas_text(int32_t replicas, char text[32]);

/* " with fp32 gradients", or nothing. */
const char *zp_gradients_text(const zp_hyper *hyper);

/* zp_cli_refuse for o's command; the message names --config. Returns ZP_EXIT_REFUSED. */
int zp_refuse(const zp_options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints *err: as zp_refuse where it is ZP_E_REFUSED. Returns the exit code of its status. */
int zp_options_report(const zp_options *o, const zp_error *err);

/* 0, or an exit code after a message: --trace or --svg (or NULL) would overwrite the --config. */
int zp_options_spare(const zp_options *o, const char *trace, const char *svg);

/* For options_json.c. The name of a field in the file; its range. */
const char *zp_opt_name(int32_t opt);
void zp_opt_range(int32_t opt, int64_t *lo, int64_t *hi);
int zp_opt_word(int32_t opt, const char *word, int64_t *value);

/* May this process take so many bytes more? As zp_plan_fits. */
int zp_memory_fits(const zp_options *o, double bytes);

/* Will all ranks of a simulation fit the memory that is free, and beside them `others` bytes and
 * per_element bytes for each element of the model? 0, or an exit code after a message with the
 * figures: better a refusal than the kernel's out-of-memory killer. */
int zp_plan_fits(const zp_options *o, const zp_config *cfg, double others, double per_element);

#endif
