/* Every kernel, once for each compiler. */
#include "gather.h"
#include "means.h"
#include "packed.h"
#include "parts.h"
#include "squares.h"
#include "statistics.h"
#include "update.h"

ZP_KERNEL(gather_copy, zp_gather_params, 1)
ZP_KERNEL_OF(gather_ordered, zp_gather_params, 1, 4)
ZP_KERNEL_LOOP(gather_exact, zp_gather_params)
ZP_KERNEL(scatter, zp_scatter_params, ZP_SCATTER_PHASES)
ZP_KERNEL_OF(squares, zp_squares_params, ZP_SQUARES_PHASES, 3)
ZP_KERNEL_OF(mean_ordered, zp_squares_params, ZP_SQUARES_PHASES, 3)
ZP_KERNEL_LOOP(mean_exact, zp_squares_params)
ZP_KERNEL(mean_packed, zp_squares_params, ZP_SQUARES_PHASES)
ZP_KERNEL(add_ordered, zp_add_params, 1)
ZP_KERNEL_LOOP(add_exact, zp_add_exact_params)
ZP_KERNEL(add_packed, zp_add_params, 1)
ZP_KERNEL_LOOP(settle, zp_settle_params)
ZP_KERNEL_LOOP(unpack_sums, zp_packed_params)
ZP_KERNEL_LOOP(pack_sums, zp_packed_params)
ZP_KERNEL_OF(update, zp_update_params, 1, 4)
ZP_KERNEL(write, zp_write_params, 1)
ZP_KERNEL(loss, zp_loss_params, 1)
ZP_KERNEL(pack, zp_pack_params, ZP_PACK_PHASES)
ZP_KERNEL(decide, zp_decide_params, ZP_DECIDE_PHASES)
