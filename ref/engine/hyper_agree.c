/* Hyperparameters that ranks change during a run, and must change alike. spec: OPT-7, STAT-6 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../num/agree.h"
#include "hyper.h"

/* ---- Change ---------------------------------------------------------------------------------- */

static int fixed(zp_error *err, int32_t rank, const char *member, long long is, long long was)
{
  return zp_fail(err, ZP_E_REFUSED, rank,
                 "rank %d: hyper.%s is %lld, and the engine was created with %lld: it cannot be "
                 "changed (OPT-7)",
                 (int)rank, member, is, was);
}

static int is_same_scaler(const zp_scaler *a, const zp_scaler *b)
{
  return a->dynamic == b->dynamic && a->log2_scale == b->log2_scale && a->log2_min == b->log2_min &&
         a->log2_max == b->log2_max && a->window == b->window && a->hysteresis == b->hysteresis &&
         a->consecutive == b->consecutive && a->iter == b->iter &&
         a->last_overflow == b->last_overflow && a->hysteresis_left == b->hysteresis_left;
}

int zp_hyper_check_change(const zp_hyper *from, const zp_hyper *to, int32_t rank, zp_error *err)
{
  char member[32];
  if (to->groups != from->groups) return fixed(err, rank, "groups", to->groups, from->groups);
  for (int32_t g = 0; g < to->groups; g++) {
    if (to->optim[g].kind == from->optim[g].kind) continue;
    snprintf(member, sizeof member, "optim[%d].kind", (int)g);
    return fixed(err, rank, member, to->optim[g].kind, from->optim[g].kind);
  }
  if (zp_replicas(to) != zp_replicas(from))
    return fixed(err, rank, "replicas", zp_replicas(to), zp_replicas(from));
  if (to->entry_align != from->entry_align)
    return fixed(err, rank, "entry_align", to->entry_align, from->entry_align);
  if (to->slots != from->slots) return fixed(err, rank, "slots", to->slots, from->slots);
  if (to->fp32_gradients != from->fp32_gradients)
    return fixed(err, rank, "fp32_gradients", to->fp32_gradients, from->fp32_gradients);
  if (!is_same_scaler(&to->scaler, &from->scaler))
    return zp_fail(err, ZP_E_REFUSED, rank,
                   "rank %d: hyper.scaler is not the one that the engine was created with: it "
                   "cannot be changed (OPT-7)",
                   (int)rank);
  return zp_hyper_check(to, rank, err);
}

/* ---- Agreement ------------------------------------------------------------------------------- */

/* One to one in h for a given x, and in x for a given h: each of its operations can be undone. */
static uint64_t mix(uint64_t h, uint64_t x)
{
  h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15); /* odd: 2^64 divided by the golden ratio */
  return h ^ h >> 32;
}

static uint64_t mix_real(uint64_t h, double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return mix(h, bits);
}

uint64_t zp_hyper_digest(const zp_optim *optim, int32_t groups, double clip, double clip_eps)
{
  uint64_t h = mix(0, (uint64_t)groups);
  for (int32_t g = 0; g < groups; g++) {
    h = mix(h, (uint64_t)optim[g].kind);
    for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++)
      h = mix_real(h, zp_optim_value(&optim[g], &zp_optim_fields[i]));
  }
  return mix_real(mix_real(h, clip), clip_eps);
}

/* Are the words within the ranges of sums over ranks (ref/num/agree.h)? */
static int are_sums(const int64_t *sums)
{
  static const int64_t most[4] = {INT64_C(1) << 36, INT64_C(1) << 52, 65535, INT64_C(1) << 56};
  for (int32_t i = 0; i < ZP_AGREE_WORDS; i++)
    if (sums[i] < 0 || sums[i] > most[i / 4]) return 0;
  return 1;
}

/* The rank that alone differs from all others, from the distances of the ranks' words to rank 0's:
 * their sum s, the sum of their squares q, and the sum m of rank times distance. If one rank alone
 * is at distance s, q = s² and m = rank · s. If all but rank 0 are at one distance d, s = (W-1)·d
 * and q = (W-1)·d². -1: several differ. A wrong answer needs an accident in all four words. */
static int32_t odd_rank(const int64_t *sums, int64_t ranks)
{
  const int64_t pairs = ranks * (ranks - 1) / 2;
  int32_t odd = -1;
  if (ranks < 2 || !are_sums(sums)) return -1;
  for (int32_t k = 0; k < 4; k++) {
    const int64_t first = sums[k + 8];
    const int64_t s = sums[k] - ranks * first, m = sums[k + 12] - pairs * first;
    const int64_t q = sums[k + 4] - 2 * first * sums[k] + ranks * (first * first);
    int64_t rank = -1;
    if (s == 0 && q == 0) continue;
    if (s == 0) return -1;
    const int64_t d = s / (ranks - 1);
    if (s < 65536 && s > -65536 && s * s == q) rank = m % s == 0 ? m / s : -1;
    else if (s % (ranks - 1) == 0 && d * d * (ranks - 1) == q) rank = 0;
    if (rank < 0 || rank >= ranks || (odd >= 0 && odd != rank)) return -1;
    odd = (int32_t)rank;
  }
  return odd;
}

int zp_hyper_differ(zp_error *err, int32_t rank, int64_t ranks, const char *where, uint64_t digest,
                    const int64_t *sums)
{
  const int32_t odd = odd_rank(sums, ranks);
  uint64_t first = 0;
  for (int32_t k = 3; k >= 0; k--) first = first * 65536u + (uint64_t)sums[k + 8];
  zp_fail(err, ZP_E_MISMATCH, rank, "%s: nothing was updated, as hyperparameters differ: ", where);
  if (odd >= 0) zp_error_append(err, "rank %d's from those of all other ranks", (int)odd);
  else zp_error_append(err, "those of several ranks from rank 0's");
  zp_error_append(err,
                  "; this rank has %s (digest %016" PRIx64 ", rank 0's %016" PRIx64 "). Set equal "
                  "ones on all ranks before the same step, with zp_engine_set_hyper (STAT-6)",
                  digest == first ? "rank 0's" : "others than rank 0", digest, first);
  return err->status;
}
