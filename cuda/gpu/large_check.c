/* large_check ELEMENTS LIMB_ELEMENTS PIECE LIMB_PIECE GRID: runs the kernels whose work grows with
 * the model on large arrays, each in one launch, then in launches of PIECE elements, as which
 * kernel_check compares them with the host. The device computes checksums of all memory and sums of
 * squares; they must be equal. In one launch, blocks walk over many tiles, as a grid has at most
 * GRID blocks (0: as many as in a step), and indices pass 2^31. LIMB_ELEMENTS, LIMB_PIECE: of the
 * kernels for sums in limbs, where an element has 72 bytes. Prints one line of JSON. Exit codes: 0:
 * equal; 1: not equal, or a kernel changed nothing; 3: no device, or no memory. */
#include <cuda_runtime_api.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/kernels.h"
#include "main.h"
#include "probe.h"
#include "states.h"

/* ALIGN: bytes that an array starts at multiples of. BLOCKS: of the kernels that make data and
 * checksums. */
enum { ARRAYS = 5, ALIGN = 256, BLOCKS = 132 * 16, DIVISOR = 24, MEMBERS = 2 };
/* Bytes of an element: the members' parts, a packed sum, its limbs. */
enum { PARTS = 2 * MEMBERS, SUMS = ZP_PACKED_BYTES, LIMBS = 72 };

typedef struct large {
  int64_t n, limbs; /* elements of the job; of jobs with limbs */
  uint32_t grid;
  char *memory, *at[ARRAYS];
  size_t bytes;
  zp_tally *tally;
  int64_t *nonfinite;
  uint64_t *sum;
  zp_step_state *step;
  zp_group_state *group;
} large;

/* One kernel: bytes of an element in each array; whether it has sums in limbs. */
typedef struct job {
  const char *name;
  const void *const *kernel;
  int32_t limbs;
  int64_t size[ARRAYS];
  int (*prepare)(const large *a); /* NULL: gradients in the first array */
  /* Elements from … from + count - 1: fills *params; the launch. */
  zp_launch (*make)(const large *a, int64_t from, int64_t count, void *params);
  /* NULL, or what has the same result for a piece as `make` for all elements. */
  int (*piece)(const large *a, int64_t from, int64_t count);
} job;

static int failed(const char *of, const char *call, cudaError_t e)
{
  if (e != cudaSuccess) fprintf(stderr, "large_check: %s: %s: %s\n", of, call, cudaGetErrorName(e));
  return e != cudaSuccess;
}

static int launch(const void *kernel, zp_launch l, void *params)
{
  void *args[] = {params};
  return failed(
      "launch", "cudaLaunchKernel",
      cudaLaunchKernel(kernel, (dim3){l.grid, 1, 1}, (dim3){l.block, 1, 1}, args, l.shared, NULL));
}

static int fill(const large *a, int array, int64_t n, int32_t dtype, int32_t kind)
{
  zp_fill_params p = {.out = a->at[array], .n = n, .dtype = dtype, .kind = kind};
  p.seed = (uint64_t)array * 77 + 5;
  return launch(zp_kernel_fill, (zp_launch){BLOCKS, 256, 0}, &p);
}

/* ---- Jobs ------------------------------------------------------------------------------------ */

static void lay(zp_memory_runs *runs, char *in, char *out, int64_t at, int64_t count)
{
  runs->n = 1;
  runs->here[0] = (zp_memory_run){.in = in, .out = out, .at = at, .count = count};
  runs->tiles = zp_runs_lay(runs->here, 1);
}

/* What is written has `size` bytes an element. */
static zp_launch gather_into(const large *a, int64_t from, int64_t count, int64_t size,
                             void *params)
{
  zp_gather_params *p = params;
  *p = (zp_gather_params){.dtype = ZP_BF16, .nonfinite = a->nonfinite};
  lay(&p->runs, a->at[0] + 2 * from, a->at[1] + size * from, 0, count);
  return zp_launch_runs(p->runs.here, 1);
}

static zp_launch copied(const large *a, int64_t from, int64_t count, void *params)
{
  return gather_into(a, from, count, 2, params);
}

static zp_launch added(const large *a, int64_t from, int64_t count, void *params)
{
  return gather_into(a, from, count, 4, params);
}

static int prepare_added(const large *a)
{
  return fill(a, 0, a->n, ZP_BF16, ZP_FILL_GRADIENT) || fill(a, 1, a->n, ZP_F32, ZP_FILL_GRADIENT);
}

static zp_launch scattered(const large *a, int64_t from, int64_t count, void *params)
{
  zp_scatter_params *p = params;
  *p = (zp_scatter_params){.bytes = 2};
  lay(&p->runs, a->at[0] + 2 * from, a->at[1] + 2 * from, 0, count);
  return zp_launch_runs(p->runs.here, 1);
}

static zp_launch squared(const large *a, int64_t from, int64_t count, void *params)
{
  zp_squares_params *p = params;
  *p = (zp_squares_params){.dtype = ZP_BF16, .tally = a->tally, .nonfinite = a->nonfinite};
  lay(&p->runs, a->at[0] + 2 * from, NULL, 0, count);
  p->lanes = zp_squares_lanes(p->runs.here, 1);
  return zp_launch_squares(p->runs.here, 1);
}

static zp_launch averaged(const large *a, int64_t from, int64_t count, void *params)
{
  zp_squares_params *p = params;
  *p = (zp_squares_params){.divisor = DIVISOR, .tally = a->tally, .nonfinite = a->nonfinite};
  lay(&p->runs, a->at[0] + 4 * from, NULL, 1, count);
  p->lanes = zp_squares_lanes(p->runs.here, 1);
  return zp_launch_squares(p->runs.here, 1);
}

static int prepare_sums(const large *a)
{
  return fill(a, 0, a->n, ZP_F32, ZP_FILL_GRADIENT);
}

static zp_launch summed(const large *a, int64_t from, int64_t count, void *params)
{
  *(zp_add_params *)params = (zp_add_params){.dtype = ZP_BF16,
                                             .members = MEMBERS,
                                             .own = -1,
                                             .first = 1,
                                             .n = count,
                                             .stride = 2 * a->n,
                                             .parts = a->at[0] + 2 * from,
                                             .out = a->at[1] + 4 * from};
  return zp_launch_elements(count);
}

static int prepare_parts(const large *a)
{
  return fill(a, 0, MEMBERS * a->n, ZP_BF16, ZP_FILL_GRADIENT);
}

static zp_launch updated(const large *a, int64_t from, int64_t count, void *params)
{
  zp_update_params *p = params;
  *p = (zp_update_params){.step = a->step,
                          .group = a->group,
                          .grad = (const float *)(const void *)a->at[0],
                          .master = (float *)(void *)a->at[1],
                          .m = (float *)(void *)a->at[2],
                          .v = (float *)(void *)a->at[3],
                          .divisor = DIVISOR,
                          .real = a->n,
                          .dtype = ZP_BF16};
  lay(&p->runs, NULL, a->at[4] + 2 * from, from, count);
  return zp_launch_runs(p->runs.here, 1);
}

static int prepare_update(const large *a)
{
  int bad = 0;
  for (int i = 0; i < 4 && !bad; i++)
    bad = fill(a, i, a->n, ZP_F32, i == 3 ? ZP_FILL_POSITIVE : ZP_FILL_GRADIENT);
  return bad;
}

/* ---- Jobs with sums in limbs ----------------------------------------------------------------- */

static zp_launch gathered(const large *a, int64_t from, int64_t count, void *params)
{
  zp_gather_params *p = params;
  *p = (zp_gather_params){.dtype = ZP_BF16, .nonfinite = a->nonfinite};
  lay(&p->runs, a->at[0] + 2 * from, a->at[1] + LIMBS * from, 0, count);
  return zp_launch_limb_runs(p->runs.here, 1);
}

/* Sums of one gradient each. */
static int prepare_limbs(const large *a)
{
  zp_gather_params p;
  zp_launch l;
  if (fill(a, 0, a->n, ZP_BF16, ZP_FILL_GRADIENT)) return -1;
  l = gathered(a, 0, a->n, &p);
  p.first = 1;
  return launch(zp_kernel_gather_exact, l, &p);
}

/* Limbs of up to 62 bits, whose carries are due. */
static int prepare_carries(const large *a)
{
  return fill(a, 1, LIMBS / 4 * a->n, ZP_F32, ZP_FILL_POSITIVE);
}

static int64_t *limbs_at(const large *a, int array, int64_t from)
{
  return (int64_t *)(void *)(a->at[array] + LIMBS * from);
}

static zp_launch settled(const large *a, int64_t from, int64_t count, void *params)
{
  *(zp_settle_params *)params = (zp_settle_params){count, limbs_at(a, 1, from)};
  return zp_launch_limbs(count, 1);
}

static zp_launch mean_of_limbs(const large *a, int64_t from, int64_t count, void *params)
{
  zp_squares_params *p = params;
  *p = (zp_squares_params){.divisor = DIVISOR, .tally = a->tally, .nonfinite = a->nonfinite};
  lay(&p->runs, a->at[1] + LIMBS * from, a->at[2] + 4 * from, 1, count);
  p->lanes = zp_squares_lanes(p->runs.here, 1);
  return zp_launch_mean_exact(p->runs.here, 1);
}

/* To sums that are there, those of another use of a tied key. */
static zp_launch limbs_added(const large *a, int64_t from, int64_t count, void *params)
{
  *(zp_add_exact_params *)params =
      (zp_add_exact_params){count, limbs_at(a, 2, from), limbs_at(a, 1, from)};
  return zp_launch_limbs(count, 2);
}

static int prepare_two_limbs(const large *a)
{
  return prepare_limbs(a) || fill(a, 2, LIMBS / 4 * a->n, ZP_F32, ZP_FILL_GRADIENT);
}

/* ---- Jobs with packed sums ------------------------------------------------------------------- */

/* Members' parts of the first array, added to packed sums that are not there yet. They are those of
 * all elements, so pieces are added as limbs, which are packed. */
static zp_launch parts_packed(const large *a, int64_t from, int64_t count, void *params)
{
  *(zp_add_params *)params = (zp_add_params){.dtype = ZP_BF16,
                                             .members = MEMBERS,
                                             .own = -1,
                                             .first = 1,
                                             .n = count,
                                             .stride = 2 * a->n,
                                             .parts = a->at[0] + 2 * from,
                                             .out = a->at[1]};
  return zp_launch_limbs(count, 1);
}

/* Elements of packed sums in array 1 and their limbs in array 2. */
static zp_launch repacked(const large *a, int64_t from, int64_t count, void *params)
{
  zp_packed_params *p = params;
  *p = (zp_packed_params){.packed = a->at[1], .n = a->n};
  lay(&p->runs, a->at[2] + LIMBS * from, a->at[2] + LIMBS * from, from, count);
  return zp_launch_limb_runs(p->runs.here, 1);
}

static int forget_limbs(const large *a, int64_t from, int64_t count)
{
  return failed("forgetting limbs", "cudaMemsetAsync",
                cudaMemsetAsync(a->at[2] + LIMBS * from, 0, (size_t)(LIMBS * count), NULL));
}

static int add_as_limbs(const large *a, int64_t from, int64_t count)
{
  zp_packed_params packed;
  const zp_launch l = repacked(a, from, count, &packed);
  for (int32_t m = 0; m < MEMBERS; m++) {
    zp_gather_params p = {.dtype = ZP_BF16, .first = m == 0};
    lay(&p.runs, a->at[0] + 2 * (a->n * m + from), a->at[2] + LIMBS * from, 0, count);
    if (launch(zp_kernel_gather_exact, zp_launch_limb_runs(p.runs.here, 1), &p)) return -1;
  }
  return launch(zp_kernel_pack_sums, l, &packed) || forget_limbs(a, from, count);
}

static int prepare_packed(const large *a)
{
  zp_add_params p;
  const zp_launch l = parts_packed(a, 0, a->n, &p);
  return prepare_parts(a) || launch(zp_kernel_add_packed, l, &p);
}

/* Limbs that are not carried. */
static int prepare_unpacked(const large *a)
{
  return fill(a, 2, LIMBS / 4 * a->n, ZP_F32, ZP_FILL_POSITIVE);
}

/* The means take the place of the sums' first words. */
static zp_launch mean_of_packed(const large *a, int64_t from, int64_t count, void *params)
{
  zp_squares_params *p = params;
  *p = (zp_squares_params){.divisor = DIVISOR,
                           .packed = a->at[1],
                           .n = a->n,
                           .tally = a->tally,
                           .nonfinite = a->nonfinite};
  lay(&p->runs, NULL, a->at[1] + 4 * from, 1, count);
  p->lanes = zp_squares_lanes(p->runs.here, 1);
  return zp_launch_mean_exact(p->runs.here, 1);
}

static const job jobs[] = {
    {"gather_copy", &zp_kernel_gather_copy, 0, {2, 2}, NULL, copied, NULL},
    {"gather_ordered", &zp_kernel_gather_ordered, 0, {2, 4}, prepare_added, added, NULL},
    {"scatter", &zp_kernel_scatter, 0, {2, 2}, NULL, scattered, NULL},
    {"squares", &zp_kernel_squares, 0, {2}, NULL, squared, NULL},
    {"mean_ordered", &zp_kernel_mean_ordered, 0, {4}, prepare_sums, averaged, NULL},
    {"add_ordered", &zp_kernel_add_ordered, 0, {2 * MEMBERS, 4}, prepare_parts, summed, NULL},
    {"update", &zp_kernel_update, 0, {4, 4, 4, 4, 2}, prepare_update, updated, NULL},
    {"gather_exact", &zp_kernel_gather_exact, 1, {2, LIMBS}, NULL, gathered, NULL},
    {"settle", &zp_kernel_settle, 1, {2, LIMBS}, prepare_carries, settled, NULL},
    {"mean_exact", &zp_kernel_mean_exact, 1, {2, LIMBS, 4}, prepare_limbs, mean_of_limbs, NULL},
    {"add_exact", &zp_kernel_add_exact, 1, {2, LIMBS, LIMBS}, prepare_two_limbs, limbs_added, NULL},
    {"add_packed",
     &zp_kernel_add_packed,
     1,
     {PARTS, SUMS, LIMBS},
     prepare_parts,
     parts_packed,
     add_as_limbs},
    {"unpack_sums",
     &zp_kernel_unpack_sums,
     1,
     {PARTS, SUMS, LIMBS},
     prepare_packed,
     repacked,
     NULL},
    {"pack_sums", &zp_kernel_pack_sums, 1, {PARTS, SUMS, LIMBS}, prepare_unpacked, repacked, NULL},
    {"mean_packed",
     &zp_kernel_mean_packed,
     1,
     {PARTS, SUMS, LIMBS},
     prepare_packed,
     mean_of_packed,
     NULL},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* ---- Memory ---------------------------------------------------------------------------------- */

static int64_t elements_of(const large *a, const job *j)
{
  return j->limbs ? a->limbs : a->n;
}

/* Bytes of the arrays of n elements; at: where they begin, or NULL. */
static size_t lay_arrays(const job *j, int64_t n, char *memory, char **at)
{
  size_t bytes = 0;
  for (int i = 0; i < ARRAYS; i++) {
    if (at) at[i] = memory + bytes;
    if (j->size[i]) bytes += ((size_t)(j->size[i] * n) + ALIGN - 1) / ALIGN * ALIGN;
  }
  return bytes;
}

static int open_memory(large *a)
{
  char *small;
  for (int i = 0; i < JOBS; i++) {
    const size_t bytes = lay_arrays(&jobs[i], elements_of(a, &jobs[i]), NULL, NULL);
    if (bytes > a->bytes) a->bytes = bytes;
  }
  if (failed("opening", "cudaSetDevice", cudaSetDevice(0)) ||
      failed("opening", "cudaMalloc", cudaMalloc((void **)&a->memory, a->bytes)) ||
      failed("opening", "cudaMalloc", cudaMalloc((void **)&small, 1 << 16)))
    return -1;
  a->tally = (zp_tally *)(void *)small;
  a->nonfinite = (int64_t *)(void *)(small + 8192);
  a->sum = (uint64_t *)(void *)(small + 8448);
  a->step = (zp_step_state *)(void *)(small + 16384);
  a->group = (zp_group_state *)(void *)(small + 32768);
  return failed("opening", "cudaMemcpy", (cudaError_t)zp_gpu_write_states(a->step, a->group));
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* What a job leaves behind. */
typedef struct result {
  uint64_t sum; /* of all arrays */
  int64_t squares[ZP_SQ_LIMBS], nonfinite;
} result;

static int prepare(const large *a, const job *j)
{
  if (failed(j->name, "cudaMemsetAsync", cudaMemsetAsync(a->memory, 0, a->bytes, NULL)) ||
      failed(j->name, "cudaMemsetAsync", cudaMemsetAsync(a->tally, 0, 16384, NULL)))
    return -1;
  return j->prepare ? j->prepare(a) : fill(a, 0, a->n, ZP_BF16, ZP_FILL_GRADIENT);
}

static int run(const large *a, const job *j, int64_t piece, uint32_t grid)
{
  for (int64_t from = 0; from < a->n; from += piece) {
    const int64_t count = a->n - from < piece ? a->n - from : piece;
    _Alignas(16) char params[4096] = {0};
    if (j->piece && piece < a->n) {
      if (j->piece(a, from, count)) return -1;
      continue;
    }
    zp_launch l = j->make(a, from, count, params);
    if (grid > 0 && grid < l.grid) l.grid = grid;
    if (launch(*j->kernel, l, params)) return -1;
  }
  return 0;
}

static int read_result(const large *a, const job *j, result *r)
{
  zp_checksum_params p = {.in = (const uint32_t *)(const void *)a->memory, .sum = a->sum};
  zp_tally tally;
  p.words = (int64_t)lay_arrays(j, a->n, NULL, NULL) / 4;
  if (launch(zp_kernel_checksum, (zp_launch){BLOCKS, 256, 0}, &p) ||
      failed(j->name, "cudaMemcpy",
             cudaMemcpy(&tally, a->tally, sizeof tally, cudaMemcpyDeviceToHost)) ||
      failed(
          j->name, "cudaMemcpy",
          cudaMemcpy(&r->nonfinite, a->nonfinite, sizeof r->nonfinite, cudaMemcpyDeviceToHost)) ||
      failed(j->name, "cudaMemcpy",
             cudaMemcpy(&r->sum, a->sum, sizeof r->sum, cudaMemcpyDeviceToHost)))
    return -1;
  zp_limbs_normalise(tally.squares, ZP_SQ_LIMBS);
  memcpy(r->squares, tally.squares, sizeof r->squares);
  return 0;
}

/* 0 equal, 1 not, 3 the device failed. changed: whether the kernel wrote anything. */
static int compare(large *a, const job *j, int64_t piece, int *changed)
{
  result before = {0}, whole = {0}, pieces = {0};
  lay_arrays(j, a->n, a->memory, a->at);
  if (prepare(a, j) || read_result(a, j, &before) || prepare(a, j) || run(a, j, a->n, a->grid) ||
      read_result(a, j, &whole) || prepare(a, j) || run(a, j, piece, 0) ||
      read_result(a, j, &pieces))
    return 3;
  *changed = memcmp(&before, &whole, sizeof whole) != 0;
  if (memcmp(&whole, &pieces, sizeof whole) == 0) return 0;
  fprintf(stderr,
          "large_check: %s of %" PRId64 " elements: checksum %016" PRIx64
          " in one launch, %016" PRIx64 " in launches of %" PRId64 "\n",
          j->name, a->n, whole.sum, pieces.sum, piece);
  return 1;
}

int zp_gpu_main(int argc, char **argv)
{
  large a = {0};
  int result = 0, done = 0, idle = 0;
  int64_t n[5] = {0};
  for (int i = 1; i < argc && i < 6; i++) n[i - 1] = atoll(argv[i]);
  if (argc != 6 || n[0] < 1 || n[1] < 1 || n[2] < 1 || n[3] < 1 || n[4] < 0) {
    fprintf(stderr, "usage: %s ELEMENTS LIMB_ELEMENTS PIECE LIMB_PIECE GRID\n", argv[0]);
    return 2;
  }
  a.n = n[0];
  a.limbs = n[1];
  a.grid = (uint32_t)n[4];
  result = open_memory(&a) ? 3 : 0;
  for (int i = 0; i < JOBS && result == 0; i++, done++) {
    int changed = 0;
    a.n = jobs[i].limbs ? n[1] : n[0];
    result = compare(&a, &jobs[i], jobs[i].limbs ? n[3] : n[2], &changed);
    if (result == 0 && !changed) idle++;
  }
  if (idle > 0) fprintf(stderr, "large_check: %d kernels changed nothing\n", idle);
  printf("{\"kernels\": %d, \"elements\": %" PRId64 ", \"limb_elements\": %" PRId64
         ", \"equal\": %s}\n",
         done, n[0], n[1], result || idle ? "false" : "true");
  cudaFree(a.memory);
  cudaFree(a.tally);
  return result ? result : idle > 0;
}
