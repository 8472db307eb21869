/* What training adds to the plan's configuration: optimizers, clipping, loss scale, replicas. */
#ifndef ZP_ENGINE_HYPER_H
#define ZP_ENGINE_HYPER_H

#include <stddef.h>
#include <stdint.h>

#include "../base/error.h"
#include "../num/optim.h"
#include "../num/scaler.h"
#include "../plan/config.h"

enum { ZP_HYPER_GROUPS = 8 };

/* What an entry starts at a multiple of, if its parameters may be used where gathers write them:
 * kernels of matrix products read vectors of so many bytes. */
enum { ZP_VIEW_BYTES = 128 };

typedef struct zp_hyper {
  zp_optim optim[ZP_HYPER_GROUPS]; /* optimizer group g uses optim[g % groups] */
  int32_t groups;                  /* 1..ZP_HYPER_GROUPS */
  double clip;                     /* largest global norm; 0: no clipping */
  double clip_eps;
  zp_scaler scaler; /* the loss scaler's initial state */
  int32_t replicas; /* R: how many replicas of the sharded state (TOPO-6); 0: 1 */
  /* Elements, 0 to 4096. Each trained, untied entry starts at a multiple of it in its flat group
   * (PART-2). 0: ZP_VIEW_BYTES of the precision, so that gathers write parameters where they are
   * used; 1: entries follow each other without padding. No result depends on it. */
  int32_t entry_align;
  /* Bucket slots of a rank at ZeRO stage 2, which its flat groups share, 1 to 1024, but never fewer
   * than buckets are filled at a time; 0: one more than those, and at least 2. With more, gradients
   * wait less for earlier reductions. No result depends on it. spec: RED-3, STRM-2 */
  int32_t slots;
  /* 1: all gradients are fp32 (RED-1); 0: each has the dtype of its entry. */
  int32_t fp32_gradients;
} zp_hyper;

/* A number of zp_optim and its range, both ends included. spec: OPT-6 */
typedef struct zp_optim_field {
  const char *name;
  size_t offset; /* of a double in zp_optim */
  double least, most;
} zp_optim_field;

enum { ZP_OPTIM_FIELDS = 6 };
extern const zp_optim_field zp_optim_fields[ZP_OPTIM_FIELDS];
#define ZP_CLIP_MOST 1e30 /* of clip and of clip_eps */

/* The value of a field. */
double zp_optim_value(const zp_optim *p, const zp_optim_field *field);

/* R, at least 1. spec: TOPO-6 */
static inline int32_t zp_replicas(const zp_hyper *h)
{
  return h->replicas == 0 ? 1 : h->replicas;
}

/* The entry alignment, at least 1, that zp_hyper.entry_align stands for. spec: PART-2 */
static inline int64_t zp_entry_align(int32_t given, int32_t precision)
{
  return given == 0 ? ZP_VIEW_BYTES / zp_dtype_bytes(precision) : given;
}

/* The dtype of entry `param`'s gradients. spec: RED-1 */
static inline int32_t zp_gradient_dtype(const zp_config *cfg, const zp_hyper *h, int32_t param)
{
  return zp_dtype_of(cfg->params[param].fp32 || h->fp32_gradients, cfg->precision);
}

/* 64 bits that depend on every bit of the numbers of the first `groups` optimizers, of clip and of
 * clip_eps. Two lists that differ in one number have different digests; lists that differ in
 * several numbers have equal ones with a probability of about 2^-64. spec: STAT-6 */
uint64_t zp_hyper_digest(const zp_optim *optim, int32_t groups, double clip, double clip_eps);

/* Sets *err for a step whose hyperparameters were not equal on all ranks, and returns its status,
 * ZP_E_MISMATCH. digest: this rank's. sums: the agreed words (16) of zp_agree_words. where: which
 * rank and step, as the text's beginning. spec: STAT-6 */
int zp_hyper_differ(zp_error *err, int32_t rank, int64_t ranks, const char *where, uint64_t digest,
                    const int64_t *sums);

/* May the next step use `to` instead of `from`? Kinds, groups, scaler, replicas, entry alignment,
 * slots and the dtype of gradients are equal, and all numbers are within their ranges: 0, or
 * ZP_E_REFUSED in *err, which names rank, member and range. spec: OPT-6, OPT-7 */
int zp_hyper_check_change(const zp_hyper *from, const zp_hyper *to, int32_t rank, zp_error *err);

/* Are all numbers within their ranges? 0, or ZP_E_REFUSED in *err, which names member and rank.
 * spec: OPT-6, SCALE-1 */
int zp_hyper_check(const zp_hyper *h, int32_t rank, zp_error *err);

#endif
