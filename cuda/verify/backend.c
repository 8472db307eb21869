#include "backend.h"

#include "../cost/cost.h"
#include "../gpt/product.h"
#include "case.h"
#include "faults.h"

#if defined(__SANITIZE_THREAD__)
#define PROGRAM "zeroproof-simdev-tsan"
#else
#define PROGRAM "zeroproof-simdev"
#endif

const zp_backend zp_backend_cuda = {
    .name = "cuda",
    .program = PROGRAM,
    .clean =
        "the CUDA engine equal to ref bit for bit: ledgers (communications of each rank), losses, "
        "norms, scales, masters, moments, parameters",
    .where = "the CUDA engine on a simulated device, beside ref",
    .repeat = "--engine cuda",
    .unsupported = zp_cuda_unsupported,
    .unsupported_count = ZP_UNSUPPORTED_COUNT,
    .schedules = 16,
    .case_timeout_s = 300, /* large cases take 20 under ThreadSanitizer */
    .random_case = zp_cuda_random_case,
    .unsupported_in = zp_cuda_unsupported_in,
    .run_case = zp_cuda_run_case,
    .fault_count = zp_cuda_fault_count,
    .fault_at = zp_cuda_fault_at,
    .fault_find = zp_cuda_fault_find,
    .fault_hidden = zp_cuda_fault_hidden,
    .train = zp_cuda_train,
    .gemm = zp_products_name,
    .library = &zp_products_library,
    .option = {[ZP_CUDA_OPTION_ORDER] = {"order", {"fifo", "random", "lazy", "pct"}},
               [ZP_CUDA_OPTION_PRODUCERS] = {"producers", {"1", "2", "3"}},
               [ZP_CUDA_OPTION_ARRIVAL] = {"arrival", {"backward", "any"}},
               [ZP_CUDA_OPTION_SUMS] = {"sums", {"exact", "ordered", "native"}},
               [ZP_CUDA_OPTION_OFFLOAD] = {"offload", {"no", "yes"}},
               [ZP_CUDA_OPTION_GRADIENTS] = {"gradients", {"precision", "fp32"}},
               [ZP_CUDA_OPTION_SLOTS] = {"slots", {"default", "least"}},
               [ZP_CUDA_OPTION_GATHERS] = {"gathers", {"whole", "partial"}},
               [ZP_CUDA_OPTION_EARLY] = {"early", {"all", "bounded"}},
               [ZP_CUDA_OPTION_PLACE] = {"place", {"own", "lent"}}},
    .observe = zp_cuda_observe,
    .time = zp_cost_time,
};
