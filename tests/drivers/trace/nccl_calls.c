/* Makes the NCCL calls that simdev lacks, for the recorder: nccl_calls FAULT
 * [TIMES]. One process makes the calls of three ranks one after the other; rank 1 has the fault.
 * The calls on whole communicators are made TIMES times (1). */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *fault, const char *name, int rank)
{
  return rank == 1 && strcmp(fault, name) == 0;
}

static void data(const char *fault, ncclComm_t c, int r)
{
  ncclRedOp_t scaled =
      (ncclRedOp_t)ncclNumOps; /* the first number that ncclRedOpCreatePreMulSum returns */
  ncclAllReduce(NULL, NULL, 4, ncclBfloat16, is(fault, "premul", r) ? ncclSum : scaled, c, NULL);
  ncclAlltoAll(NULL, NULL, is(fault, "all_to_all", r) ? 6 : 5, ncclFloat, c, NULL);
  ncclGather(NULL, NULL, 7, ncclInt8, is(fault, "gather", r) ? 0 : 2, c, NULL);
  if (!is(fault, "scatter", r)) ncclScatter(NULL, NULL, 8, ncclHalf, 1, c, NULL);
}

static ncclComm_t one, whole[3], part[3], again[3], fewer[2], more[4];

static int make(const char *fault)
{
  ncclUniqueId ids[2] = {{"one"}, {"two"}};
  int without = 2;
  if (ncclCommInitRankScalable(&one, 1, 0, 2, ids, NULL) || ncclCommInitAll(whole, 3, NULL))
    return 1;
  for (int times = 0; times < 2; times++) {
    ncclComm_t *to = times ? again : part;
    ncclGroupStart();
    for (int r = 0; r < 3; r++)
      if (ncclCommSplit(whole[r], r == 2 ? NCCL_SPLIT_NOCOLOR : 7, r, &to[r], NULL)) return 1;
    ncclGroupEnd();
  }
  for (int r = 0; r < 2; r++)
    if (ncclCommShrink(whole[r], &without, 1, &fewer[r], NULL, 0)) return 1;
  for (int r = 0; r < 4; r++)
    if (ncclCommGrow(r < 3 ? whole[r] : NULL, 4, NULL, r < 3 ? -1 : r, &more[r], NULL)) return 1;
  return is(fault, "destroyed", 1) && ncclCommDestroy(part[1]);
}

int main(int argc, char **argv)
{
  const char *fault = argc > 1 ? argv[1] : "none";
  const int times = argc > 2 ? atoi(argv[2]) : 1;
  if (make(fault)) return 1;
  ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, one, NULL);
  for (int r = 0; r < 3; r++) {
    for (int t = 0; t < times; t++) data(fault, whole[r], r);
    if (r < 2) {
      ncclAllReduce(NULL, NULL, 9, ncclFloat, ncclSum, is(fault, "again", r) ? part[r] : again[r],
                    NULL);
      ncclAllReduce(NULL, NULL, is(fault, "shrunk", r) ? 11 : 10, ncclFloat, ncclSum, fewer[r],
                    NULL);
      ncclAllReduce(NULL, NULL, 12, ncclFloat, ncclSum, part[r], NULL);
    }
    ncclAllReduce(NULL, NULL, (size_t)r + 1, ncclFloat, ncclSum, more[r], NULL); /* not judged */
    ncclGroupStart();
    ncclAllReduce(NULL, NULL, 13, ncclFloat, ncclSum, whole[r], NULL);
    ncclGroupSimulateEnd(NULL);
  }
  return 0;
}
