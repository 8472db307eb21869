/* gpt: a byte-level decoder-only transformer as a workload, forward and backward by hand.
 *
 * Model: learned byte and position embeddings; L pre-norm blocks (layer norm, causal multi-head
 * attention, layer norm, MLP 4·d with GELU in its tanh form); final layer norm; a head tied with
 * the byte embedding; cross-entropy. Weight matrices are stored (in, out), row-major; the byte
 * embedding (256, d).
 *
 * Bits. Activations and their gradients have the configuration's precision at every boundary
 * between layers (after the embedding, after each block), whether or not a stage ends there; inside
 * a layer everything is fp32, computed from decoded parameters. A gradient is summed in fp32 over
 * the micro-batch and rounded once. Each sum has one order, stated at its function (gpt_layers.h,
 * gpt_matmul.h); exp, log and tanh are zmath.h's. So loss and gradients are the same bits for every
 * pp, compiler and CPU, provided no compiler contracts (-ffp-contract=off).
 *
 * spec: STEP-1, PIPE-6 */
#ifndef ZP_MODEL_GPT_H
#define ZP_MODEL_GPT_H

#include <stddef.h>
#include <stdint.h>

#include "../engine/workload.h"

enum {
  ZP_GPT_VOCAB = 256,        /* bytes */
  ZP_GPT_BLOCK_ENTRIES = 12, /* entries of one block, see zp_gpt_list */
  ZP_GPT_NAME = 48,          /* bytes of a name with its zero */
  ZP_GPT_OPTGROUPS = 3,      /* 0 matrices, 1 biases and norms, 2 embeddings */
  ZP_GPT_TIED_KEYS = 1,      /* the byte embedding and its use as head */
  ZP_GPT_MAX_LAYERS = 128,   /* limits: far above what a CPU trains, small enough for int32 */
  ZP_GPT_MAX_D_MODEL = 2048, /* so that 4·d·d and every other count of one entry fits int32 */
  ZP_GPT_MAX_CONTEXT = 2048,
  ZP_GPT_MAX_BATCH = 256
};

/* A micro-batch is `batch` sequences of `context` bytes. */
typedef struct zp_gpt_shape {
  int32_t layers;     /* 1..128 */
  int32_t d_model;    /* 1..2048, a multiple of heads */
  int32_t heads;      /* 1..d_model */
  int32_t context;    /* 1..2048 */
  int32_t batch;      /* 1..256 */
  int32_t fp32_norms; /* 1: gains and biases of norms are fp32, whatever the precision */
} zp_gpt_shape;

/* layers 4, d_model 48, heads 4, context 64, batch 2: 128,544 logical elements. */
zp_gpt_shape zp_gpt_shape_default(void);

/* Decides whether a shape is within its limits. Returns 0; else -1 and, in msg (cap bytes, may be
 * 0), the field, its value and the range. */
int zp_gpt_shape_check(const zp_gpt_shape *shape, char *msg, size_t cap);

/* Number of entries of the parameter list: 12·layers + 5. */
int32_t zp_gpt_entries(const zp_gpt_shape *shape);

/* Logical elements: the sum of numel with the tied embedding counted once. */
int64_t zp_gpt_elements(const zp_gpt_shape *shape);

/* Bytes that the workload keeps for activations, over all ranks, about: 20 values
 * of width d_model and, for attention, a row per head, per layer and byte. */
double zp_gpt_activation_bytes(const zp_gpt_shape *shape, const zp_config *cfg);

/* The largest pp: layers + 2 (embedding, each block, head on a stage of their own). */
int32_t zp_gpt_max_pp(const zp_gpt_shape *shape);

/* The first block of stage s, 0 <= s <= pp: stage s holds blocks [first(s), first(s+1)), stage 0
 * also the embedding, the last stage also final norm and head. Rule: the stages that hold blocks
 * are all if pp <= layers; all but stage 0 if pp = layers + 1; all but the first and the last if
 * pp = layers + 2. n such stages get ceil((i+1)·layers/n) − ceil(i·layers/n) blocks in turn: counts
 * differ by at most one and the head's stage never has more than another. */
int32_t zp_gpt_first_block(const zp_gpt_shape *shape, int32_t pp, int32_t s);

/* The name of an entry, 0 <= entry < zp_gpt_entries: "h0.qkv.w". */
void zp_gpt_name(const zp_gpt_shape *shape, int32_t entry, char name[ZP_GPT_NAME]);

/* The parameter list in the model's order: params[zp_gpt_entries]; names likewise, or NULL.
 * Entries: wte, wpe; per block hL.ln1.g, ln1.b, qkv.w, qkv.b, proj.w, proj.b, ln2.g, ln2.b, fc.w,
 * fc.b, out.w, out.b; lnf.g, lnf.b, wte.head. Ids, names and sizes do not depend on pp, only
 * .stage does. wte (0) and wte.head (last) have tied key 0. 1 <= pp <= zp_gpt_max_pp. */
void zp_gpt_list(const zp_gpt_shape *shape, int32_t pp, zp_param *params,
                 char (*names)[ZP_GPT_NAME]);

/* Training text, owned by the caller. The window of a sequence is a function of (seed, step,
 * global micro-batch, sequence) only. */
typedef struct zp_gpt_data {
  const uint8_t *bytes; /* n bytes */
  int64_t n;            /* > context */
  uint64_t seed;
} zp_gpt_data;

typedef struct zp_gpt_options {
  zp_gpt_shape shape;
  zp_gpt_data data;
  uint64_t init_seed;
  int32_t vary_shapes; /* 1: the context of global micro-batch g is zp_gpt_context_of(…, g) */
  int32_t tuple;       /* 1: messages are (int32 targets (B,T), activation (B,T,d)) */
} zp_gpt_options;

/* Bytes per sequence of global micro-batch g: context, or with vary_shapes
 * max(1, context − (g mod 3)·max(1, context/8)). */
int32_t zp_gpt_context_of(const zp_gpt_options *options, int64_t g);

typedef struct zp_gpt zp_gpt;

/* Makes a workload's context; options are copied, the text is not. Returns NULL, with the reason
 * in msg, for a bad shape, a text of fewer than context + 1 bytes or no memory. */
zp_gpt *zp_gpt_create(const zp_gpt_options *options, char *msg, size_t cap);
void zp_gpt_destroy(zp_gpt *gpt);

/* The workload interface over gpt, which must outlive it. Its configuration must have
 * zp_gpt_entries entries and pp <= zp_gpt_max_pp (open returns -1 otherwise). Gradients arrive in
 * descending order of entries; a frozen entry's does not. tp and ep ranks compute replicas. */
zp_workload zp_gpt_workload(zp_gpt *gpt);

/* Continues a prompt. params[j]: entry j in fp32 (numel elements); prompt: n_prompt >= 1 bytes;
 * out: n_out bytes. temperature 0 takes the likeliest byte (the lowest of equals), else samples
 * with `seed`. The model sees at most the last `context` bytes. Returns 0, -1 without memory. */
int zp_gpt_sample(const zp_gpt_shape *shape, const float *const *params, const uint8_t *prompt,
                  int32_t n_prompt, float temperature, uint64_t seed, uint8_t *out, int32_t n_out);

/* Mean loss per byte in nats over consecutive windows of a text of n >= 2 bytes (all but the first
 * byte is predicted once), fp32. params as in zp_gpt_sample. Returns 0, -1 without memory. */
int zp_gpt_loss_of(const zp_gpt_shape *shape, const float *const *params, const uint8_t *bytes,
                   int64_t n, double *loss);

#endif
