#include "gpt_layers.h"

#include <math.h> /* sqrtf only: IEEE 754 rounds it correctly */
#include <string.h>

#include "gpt.h"
#include "gpt_matmul.h"
#include "gpt_target.h"
#include "zmath.h"

enum { V = ZP_GPT_VOCAB };

static void zero(float *x, int64_t n)
{
  memset(x, 0, (size_t)n * sizeof *x);
}

void zp_gpt_embed(float *x, const int32_t *token, const float *wte, const float *wpe, zp_gpt_dims d)
{
  for (int64_t n = 0; n < d.B * d.T; n++) {
    const float *byte = wte + token[n] * d.C;
    const float *position = wpe + n % d.T * d.C;
    for (int64_t c = 0; c < d.C; c++) x[n * d.C + c] = byte[c] + position[c];
  }
}

void zp_gpt_embed_backward(float *dwte, float *dwpe, const float *dx, const int32_t *token,
                           int64_t context, zp_gpt_dims d)
{
  zero(dwte, V * d.C);
  zero(dwpe, context * d.C);
  for (int64_t n = 0; n < d.B * d.T; n++) {
    float *dbyte = dwte + token[n] * d.C;
    float *dposition = dwpe + n % d.T * d.C;
    for (int64_t c = 0; c < d.C; c++) {
      dbyte[c] += dx[n * d.C + c];
      dposition[c] += dx[n * d.C + c];
    }
  }
}

void zp_gpt_norm(float *y, float *mean, float *rstd, const float *x, const float *g, const float *b,
                 zp_gpt_dims d)
{
  for (int64_t n = 0; n < d.B * d.T; n++, x += d.C, y += d.C) {
    float sum = 0.0f;
    for (int64_t c = 0; c < d.C; c++) sum += x[c];
    float m = sum / (float)d.C;
    float squares = 0.0f;
    for (int64_t c = 0; c < d.C; c++) squares += (x[c] - m) * (x[c] - m);
    float r = 1.0f / sqrtf(squares / (float)d.C + 1e-5f);
    for (int64_t c = 0; c < d.C; c++) y[c] = (x[c] - m) * r * g[c] + b[c];
    mean[n] = m;
    rstd[n] = r;
  }
}

/* With h = (x − m)·r and e = dy·g: dx = r·(e − mean(e) − h·mean(e·h)). */
void zp_gpt_norm_backward(float *dx, float *dg, float *db, const float *dy, const float *add,
                          const float *x, const float *mean, const float *rstd, const float *g,
                          zp_gpt_dims d)
{
  zero(dg, d.C);
  zero(db, d.C);
  for (int64_t n = 0; n < d.B * d.T; n++, x += d.C, dx += d.C, dy += d.C) {
    float m = mean[n], r = rstd[n];
    float sum_e = 0.0f, sum_eh = 0.0f;
    for (int64_t c = 0; c < d.C; c++) {
      float e = dy[c] * g[c];
      sum_e += e;
      sum_eh += e * ((x[c] - m) * r);
    }
    float mean_e = sum_e / (float)d.C, mean_eh = sum_eh / (float)d.C;
    for (int64_t c = 0; c < d.C; c++) {
      float h = (x[c] - m) * r;
      dg[c] += dy[c] * h;
      db[c] += dy[c];
      dx[c] = r * (dy[c] * g[c] - mean_e - h * mean_eh);
    }
    if (add) {
      for (int64_t c = 0; c < d.C; c++) dx[c] = add[n * d.C + c] + dx[c];
    }
  }
}

void zp_gpt_linear(float *y, const float *x, const float *w, const float *b, int64_t rows,
                   int64_t in, int64_t out)
{
  for (int64_t n = 0; n < rows; n++) memcpy(y + n * out, b, (size_t)out * sizeof *y);
  zp_gpt_matmul((zp_gpt_product){rows, out, in, y, out, x, in, 1, w, out});
}

void zp_gpt_linear_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                            const float *wt, int64_t rows, int64_t in, int64_t out)
{
  zero(dx, rows * in);
  zp_gpt_matmul((zp_gpt_product){rows, in, out, dx, in, dy, out, 1, wt, in});
  zero(dw, in * out);
  zp_gpt_matmul((zp_gpt_product){in, out, rows, dw, out, x, 1, in, dy, out});
  zero(db, out);
  for (int64_t n = 0; n < rows; n++)
    for (int64_t o = 0; o < out; o++) db[o] += dy[n * out + o];
}

void zp_gpt_transpose(float *t, const float *w, int64_t rows, int64_t cols)
{
  for (int64_t c = 0; c < cols; c++)
    for (int64_t r = 0; r < rows; r++) t[c * rows + r] = w[r * cols + c];
}

/* Scores s (T,T) of one head become probabilities: scaled, then softmax over columns 0..t of row t;
 * zeros after. The largest score is subtracted first; the sum runs over ascending columns. */
static void causal_softmax(float *s, float scale, int64_t T)
{
  for (int64_t t = 0; t < T; t++, s += T) {
    float top = s[0] * scale;
    for (int64_t u = 0; u <= t; u++) {
      s[u] *= scale;
      top = s[u] > top ? s[u] : top;
    }
    zp_exp_shifted(s, top, t + 1);
    float sum = 0.0f;
    for (int64_t u = 0; u <= t; u++) sum += s[u];
    float inverse = 1.0f / sum;
    for (int64_t u = 0; u <= t; u++) s[u] *= inverse;
    zero(s + t + 1, T - t - 1);
  }
}

/* t (cols,T) = the transpose of T rows of `cols` floats, 3C apart. */
static void gather_columns(float *t, const float *rows, int64_t cols, zp_gpt_dims d)
{
  for (int64_t c = 0; c < cols; c++)
    for (int64_t n = 0; n < d.T; n++) t[c * d.T + n] = rows[n * 3 * d.C + c];
}

void zp_gpt_attention(float *y, float *p, const float *qkv, float *scratch, zp_gpt_dims d)
{
  int64_t hs = d.C / d.H, T = d.T, C = d.C;
  float scale = 1.0f / sqrtf((float)hs);
  zero(y, d.B * T * C);
  zero(p, d.B * d.H * T * T);
  for (int64_t i = 0; i < d.B * d.H; i++, p += T * T) {
    const float *q = qkv + i / d.H * T * 3 * C + i % d.H * hs; /* (T,hs), rows 3C apart; k, v too */
    const float *k = q + C, *v = q + 2 * C;
    gather_columns(scratch, k, hs, d); /* (hs,T) */
    zp_gpt_matmul((zp_gpt_product){T, T, hs, p, T, q, 3 * C, 1, scratch, T});
    causal_softmax(p, scale, T);
    float *out = y + i / d.H * T * C + i % d.H * hs; /* (T,hs), rows C apart */
    zp_gpt_matmul((zp_gpt_product){T, hs, T, out, C, p, T, 1, v, 3 * C});
  }
}

/* dp (T,T) becomes the gradient of the unscaled scores: p·(dp − Σ_u p·dp)·scale. */
static void softmax_backward(float *dp, const float *p, float scale, int64_t T)
{
  for (int64_t t = 0; t < T; t++, dp += T, p += T) {
    float dot = 0.0f;
    for (int64_t u = 0; u <= t; u++) dot += p[u] * dp[u];
    for (int64_t u = 0; u <= t; u++) dp[u] = p[u] * (dp[u] - dot) * scale;
    zero(dp + t + 1, T - t - 1);
  }
}

void zp_gpt_attention_backward(float *dqkv, const float *dy, const float *p, const float *qkv,
                               float *scratch, zp_gpt_dims d)
{
  int64_t hs = d.C / d.H, T = d.T, C = d.C;
  float scale = 1.0f / sqrtf((float)hs);
  float *vt = scratch;          /* (hs,T) */
  float *dp = scratch + hs * T; /* (T,T) */
  zero(dqkv, d.B * T * 3 * C);
  for (int64_t i = 0; i < d.B * d.H; i++, p += T * T) {
    int64_t at = i / d.H * T * 3 * C + i % d.H * hs;
    const float *q = qkv + at, *k = q + C, *v = k + C;      /* (T,hs), rows 3C apart */
    float *dq = dqkv + at, *dk = dq + C, *dv = dk + C;      /* the same */
    const float *out = dy + i / d.H * T * C + i % d.H * hs; /* (T,hs), rows C apart */
    gather_columns(vt, v, hs, d);
    zero(dp, T * T);
    zp_gpt_matmul((zp_gpt_product){T, T, hs, dp, T, out, C, 1, vt, T});
    zp_gpt_matmul((zp_gpt_product){T, hs, T, dv, 3 * C, p, 1, T, out, C});
    softmax_backward(dp, p, scale, T);
    zp_gpt_matmul((zp_gpt_product){T, hs, T, dq, 3 * C, dp, T, 1, k, 3 * C});
    zp_gpt_matmul((zp_gpt_product){T, hs, T, dk, 3 * C, dp, 1, T, q, 3 * C});
  }
}

float zp_gpt_cross_entropy(float *p, const int32_t *target, zp_gpt_dims d)
{
  double total = 0.0;
  for (int64_t n = 0; n < d.B * d.T; n++, p += V) {
    float top = p[0];
    for (int v = 1; v < V; v++) top = p[v] > top ? p[v] : top;
    float hit = p[target[n]];
    zp_exp_shifted(p, top, V);
    float sum = 0.0f;
    for (int v = 0; v < V; v++) sum += p[v];
    float inverse = 1.0f / sum;
    for (int v = 0; v < V; v++) p[v] *= inverse;
    total += (double)zp_logf(sum) + ((double)top - (double)hit);
  }
  return (float)(total / (double)(d.B * d.T));
}

void zp_gpt_cross_entropy_backward(float *dlogits, const float *p, const int32_t *target,
                                   float scale, zp_gpt_dims d)
{
  float mean = 1.0f / (float)(d.B * d.T);
  for (int64_t n = 0; n < d.B * d.T; n++, p += V, dlogits += V) {
    for (int v = 0; v < V; v++) dlogits[v] = p[v] * mean * scale;
    dlogits[target[n]] = (p[target[n]] - 1.0f) * mean * scale;
  }
}
