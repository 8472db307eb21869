/* Every kernel of the model, for both compilers. */
#include "backward.h"
#include "forward.h"
#include "input_kernels.h"
#include "product_kernels.h"

ZP_KERNEL(product, zp_product, 1)
ZP_KERNEL(judge_product, zp_judge_product_params, 1)
ZP_KERNEL(pack_operand, zp_pack_operand_params, 1)
ZP_KERNEL(convert, zp_convert_params, 1)
ZP_KERNEL(read, zp_read_params, 1)
ZP_KERNEL(targets, zp_targets_params, 1)
ZP_KERNEL(embed, zp_embed_params, 1)
ZP_KERNEL(embed_backward, zp_embed_params, 1)
ZP_KERNEL(layer_norm, zp_layer_norm_params, 3)
ZP_KERNEL(layer_norm_backward, zp_layer_norm_params, 2)
ZP_KERNEL(layer_norm_columns, zp_layer_norm_params, 1)
ZP_KERNEL(residual, zp_residual_params, 1)
ZP_KERNEL(round, zp_round_params, 1)
ZP_KERNEL(gelu, zp_gelu_params, 1)
ZP_KERNEL(gelu_backward, zp_gelu_params, 1)
ZP_KERNEL(softmax, zp_softmax_params, 4)
ZP_KERNEL(softmax_backward, zp_softmax_params, 2)
ZP_KERNEL(columns, zp_columns_params, 1)
ZP_KERNEL(entropy, zp_entropy_params, 4)
ZP_KERNEL(entropy_mean, zp_entropy_params, 1)
ZP_KERNEL(entropy_backward, zp_entropy_params, 1)
