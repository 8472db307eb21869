/* The update on vectors: one body for both widths. update_avx2.c and update_avx512.c define, before
 * they include it: ZP_TARGET (attribute), ZP_NAME, ZP_WIDTH (lanes), the type zp_vec, and inline
 * functions vec_set, vec_load, vec_store, vec_add, vec_sub, vec_mul, vec_div, vec_sqrt, each one
 * IEEE operation a lane, and vec_store_bf16, vec_store_f16, which round to nearest even.
 * Internal to cuda/offload. spec: OPT-3, OPT-4, NUM-2 */

typedef struct vec_scalars {
  zp_vec unscale, factor_clip, decay;
  zp_vec b1, c1, b2, c2, root, size, eps;
  zp_vec lr, mu;
} vec_scalars;

ZP_TARGET static inline vec_scalars scalars_from(const float *s)
{
  const vec_scalars k = {vec_set(s[0]), vec_set(s[1]), vec_set(s[2]),  vec_set(s[3]),
                         vec_set(s[4]), vec_set(s[5]), vec_set(s[6]),  vec_set(s[7]),
                         vec_set(s[8]), vec_set(s[9]), vec_set(s[10]), vec_set(s[11])};
  return k;
}

/* out: NULL: nothing is stored. */
ZP_TARGET static inline void store_rounded(int32_t dtype, void *out, int64_t i, zp_vec x)
{
  if (!out) return;
  if (dtype == ZP_F32) vec_store((float *)out + i, x);
  else if (dtype == ZP_BF16) vec_store_bf16((uint16_t *)out + i, x);
  else vec_store_f16((uint16_t *)out + i, x);
}

ZP_TARGET static inline zp_vec gradient(const vec_scalars *k, const float *grad, int64_t i)
{
  return vec_mul(vec_mul(vec_load(grad + i), k->unscale), k->factor_clip);
}

ZP_TARGET static int64_t adamw(const zp_host_update *u, vec_scalars k, int64_t i, int64_t end)
{
  for (; end - i >= ZP_WIDTH; i += ZP_WIDTH) {
    const zp_vec g = gradient(&k, u->grad, i);
    zp_vec w = vec_mul(vec_load(u->master + i), k.decay);
    const zp_vec moment1 = vec_add(vec_mul(k.b1, vec_load(u->m + i)), vec_mul(k.c1, g));
    const zp_vec moment2 = vec_add(vec_mul(k.b2, vec_load(u->v + i)), vec_mul(k.c2, vec_mul(g, g)));
    const zp_vec d = vec_add(vec_div(vec_sqrt(moment2), k.root), k.eps);
    w = vec_sub(w, vec_mul(k.size, vec_div(moment1, d)));
    vec_store(u->m + i, moment1);
    vec_store(u->v + i, moment2);
    vec_store(u->master + i, w);
    store_rounded(u->dtype, u->out, i, w);
  }
  return i;
}

ZP_TARGET static int64_t sgd(const zp_host_update *u, vec_scalars k, int64_t i, int64_t end)
{
  for (; end - i >= ZP_WIDTH; i += ZP_WIDTH) {
    zp_vec g = gradient(&k, u->grad, i), w = vec_mul(vec_load(u->master + i), k.decay);
    if (u->group->rule == ZP_RULE_MOMENTUM) {
      g = vec_add(vec_mul(k.mu, vec_load(u->m + i)), g);
      vec_store(u->m + i, g);
    }
    w = vec_sub(w, vec_mul(k.lr, g));
    vec_store(u->master + i, w);
    store_rounded(u->dtype, u->out, i, w);
  }
  return i;
}

ZP_TARGET int64_t ZP_NAME(const zp_host_update *u, int64_t from, int64_t to)
{
  const vec_scalars k = scalars_from(u->group->scalar);
  return u->group->rule == ZP_RULE_ADAMW ? adamw(u, k, from, to) : sgd(u, k, from, to);
}

ZP_TARGET int64_t ZP_NAME_ROUND(const zp_host_update *u, int64_t from, int64_t to)
{
  int64_t i = from;
  for (; u->out && to - i >= ZP_WIDTH; i += ZP_WIDTH)
    store_rounded(u->dtype, u->out, i, vec_load(u->master + i));
  return i;
}
