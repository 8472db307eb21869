/* Searches for data races inside the model's kernels, as races.c does: two stages of a model run on
 * a device that executes each launch at once, with every thread a fiber of ThreadSanitizer. Called
 * by test_model_races.sh. */
#define main races_of_the_engines_kernels
#include "races.c"
#undef main

#include "../../../cuda/gpt/gpt.h"
#include "../../../cuda/gpt/judge.h"
#include "../../../cuda/gpt/layers.h"

enum { TEXT = 64, ENTRIES = 29 };

/* ---- A device that does everything at once --------------------------------------------------- */

cudaError_t cudaMalloc(void **p, size_t bytes)
{
  *p = calloc(1, bytes);
  return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFree(void *p)
{
  free(p);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
  (void)kind;
  memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
  (void)stream;
  return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
  (void)flags;
  *stream = NULL;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
  (void)stream;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel)
{
  (void)attributes, (void)kernel;
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                             cudaStream_t stream)
{
  const zp_launch l = {grid.x, block.x, shared};
  (void)stream;
  run(kernel, l, args[0]);
  return cudaSuccess;
}

/* cuBLASLt's operands: two matrices. */
static void pack_operand(void)
{
  static float in[2 * 3 * 5];
  static uint16_t packed[2 * 3 * 8];
  zp_pack_operand_params p = {.in = in, .out = packed, .outer = 2, .inner = 1, .lines = 3};
  p.length = p.apart = 5;
  p.length_out = 8;
  p.step.outer = 15;
  run(zp_kernel_pack_operand, zp_launch_items(30), &p);
}

/* ---- The model ------------------------------------------------------------------------------- */

int main(void)
{
  const zp_gpt_shape shape = {2, 4, 2, 3, 2, 0};
  static uint8_t text[TEXT];
  static zp_param list[ENTRIES];
  static uint16_t param[ENTRIES][1024], gradient[ENTRIES][1024], activation[24], back[24];
  static int32_t targets[6], refused;
  void *params[ENTRIES], *grads[ENTRIES];
  zp_config cfg = {.pp = 2, .dp = 1, .tp = 1, .ep = 1, .micro_batches = 2, .precision = ZP_BF16};
  zp_gpt_options gpt = {.shape = shape, .data = {text, TEXT, 1}, .tuple = 1};
  zp_message sent = {2, {{ZP_I32, 1, {6}, targets}, {ZP_BF16, 1, {24}, activation}}};
  zp_message returned = {1, {{ZP_BF16, 1, {24}, back}}}, none = {0};
  zp_cuda_call call = {.state = &step};
  zp_cuda_gpt *stage[2];
  zp_judged found;
  zp_product_judge judge;
  zp_products by = zp_products_ref;
  by.loads = 1; /* also each stage's products when it is opened */
  if (zp_product_judge_open(&judge, &by)) return 1;
  judge.on = 1;
  const zp_products products = zp_products_judged(&judge);
  fibers_make();
  pack_operand();
  if (zp_gpt_entries(&shape) != ENTRIES) return 1;
  zp_gpt_list(&shape, 2, list, NULL);
  cfg.params = list;
  cfg.n_params = ENTRIES;
  for (int i = 0; i < ENTRIES; i++) {
    for (int k = 0; k < 1024; k++) param[i][k] = (uint16_t)(0x3e00 + 8 * i + k % 64);
    params[i] = param[i];
    grads[i] = gradient[i];
  }
  for (int i = 0; i < 2; i++) {
    stage[i] =
        zp_cuda_gpt_open(&(zp_cuda_gpt_options){&gpt, &cfg, i, 0, params, &refused, &products});
    if (!stage[i]) return 2;
  }
  call.loss = &out[0];
  call.in = &none;
  call.out = &sent;
  if (zp_cuda_gpt_forward(stage[0], &call)) return 3;
  call.in = &sent;
  call.out = &none;
  if (zp_cuda_gpt_forward(stage[1], &call)) return 4;
  call.in = &none;
  call.out = &returned;
  if (zp_cuda_gpt_backward(stage[1], &call, grads)) return 5;
  call.in = &returned;
  call.out = &none;
  if (zp_cuda_gpt_backward(stage[0], &call, grads)) return 6;
  for (int i = 0; i < 2; i++) zp_cuda_gpt_close(stage[i]);
  if (zp_product_judge_read(&judge, &found)) return 7;
  zp_product_judge_close(&judge);
  return refused != 0 || judge.elements == 0 || zp_judged_worst_product(&found) >= 0;
}
