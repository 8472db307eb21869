/* The network as embedding, blocks and head: what each keeps for its backward, in fp32. Private to
 * ref/model. */
#ifndef ZP_MODEL_GPT_NET_H
#define ZP_MODEL_GPT_NET_H

#include "gpt.h"
#include "gpt_layers.h"
#include "gpt_pool.h"

/* A block's entries, in the order of the parameter list. Shapes: C = d_model. */
enum {
  ZP_GPT_LN1_G,  /* (C) */
  ZP_GPT_LN1_B,  /* (C) */
  ZP_GPT_QKV_W,  /* (C,3C) */
  ZP_GPT_QKV_B,  /* (3C) */
  ZP_GPT_PROJ_W, /* (C,C) */
  ZP_GPT_PROJ_B, /* (C) */
  ZP_GPT_LN2_G,  /* (C) */
  ZP_GPT_LN2_B,  /* (C) */
  ZP_GPT_FC_W,   /* (C,4C) */
  ZP_GPT_FC_B,   /* (4C) */
  ZP_GPT_OUT_W,  /* (4C,C) */
  ZP_GPT_OUT_B   /* (C) */
};

/* Elements of entry `which` of a block, and of entry `entry` of the whole list. */
int64_t zp_gpt_block_numel(int64_t d_model, int32_t which);
int64_t zp_gpt_numel(const zp_gpt_shape *shape, int32_t entry);

/* What one block keeps of one micro-batch. N = B·T. */
typedef struct zp_gpt_block_kept {
  float *x;             /* (N,C) input, filled by the caller */
  float *ln1;           /* (N,C) */
  float *mean1, *rstd1; /* (N) */
  float *qkv;           /* (N,3C) */
  float *p;             /* (B,H,T,T) attention probabilities */
  float *att;           /* (N,C) */
  float *mid;           /* (N,C) between attention and MLP */
  float *ln2;           /* (N,C) */
  float *mean2, *rstd2; /* (N) */
  float *fc;            /* (N,4C) before GELU */
  float *gelu;          /* (N,4C) */
} zp_gpt_block_kept;

typedef struct zp_gpt_head_kept {
  float *x;           /* (N,C) input, filled by the caller */
  float *norm;        /* (N,C) */
  float *mean, *rstd; /* (N) */
  float *p;           /* (N,256) probabilities of the next byte */
} zp_gpt_head_kept;

/* Room that lives within one call. */
typedef struct zp_gpt_scratch {
  float *wide;      /* (N, max(4C, 256)) */
  float *narrow;    /* (N,C) */
  float *mid;       /* (N,C) */
  float *attention; /* (C/H·T + T·T) */
  float *wt;        /* (C, max(4C, 256)) one transposed matrix */
} zp_gpt_scratch;

/* Allocate for the shape's largest micro-batch; on failure pool->failed is set. */
void zp_gpt_make_block(zp_gpt_pool *pool, zp_gpt_block_kept *kept, const zp_gpt_shape *shape);
void zp_gpt_make_head(zp_gpt_pool *pool, zp_gpt_head_kept *kept, const zp_gpt_shape *shape);
void zp_gpt_make_scratch(zp_gpt_pool *pool, zp_gpt_scratch *scratch, const zp_gpt_shape *shape);

/* y (N,C) = block of kept->x; w: its 12 entries. */
void zp_gpt_block(float *y, zp_gpt_block_kept *kept, const float *const *w,
                  const zp_gpt_scratch *scratch, zp_gpt_dims d);

/* dx (N,C) and the gradients dw of the 12 entries, from dy (N,C). */
void zp_gpt_block_backward(float *dx, float *const *dw, const float *dy,
                           const zp_gpt_block_kept *kept, const float *const *w,
                           const zp_gpt_scratch *scratch, zp_gpt_dims d);

/* Leaves the logits of kept->x in kept->p; w: lnf.g, lnf.b, wte.head. */
void zp_gpt_head(zp_gpt_head_kept *kept, const float *const *w, const zp_gpt_scratch *scratch,
                 zp_gpt_dims d);

/* dx (N,C) and the gradients dw of the 3 entries, of scale · mean loss, when kept->p holds the
 * probabilities. */
void zp_gpt_head_backward(float *dx, float *const *dw, const int32_t *target, float scale,
                          const zp_gpt_head_kept *kept, const float *const *w,
                          const zp_gpt_scratch *scratch, zp_gpt_dims d);

#endif
