/* A library that Python loads like an extension and that depends on NCCL. It creates
 * communicators of which this process has several members, for nccl_multi_rank.py. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int make_one_after_the_other(int first, int n, int size);
int make_in_a_group(int first, int n, int size);
int make_pairs(int first, int n, int size);
int make_wider(int first, int n, int size);
int split_later(int i);
int reduce(int i, int count);
int call_missing_function(void);

extern int nccl_fake_device;
static ncclComm_t comms[8];

int make_one_after_the_other(int first, int n, int size)
{
  ncclUniqueId id = {{"here"}};
  int bad = 0;
  for (int i = 0; i < n; i++)
    bad |= ncclCommInitRankScalable(&comms[i], size, first + i, 1, &id, NULL);
  return bad;
}

/* The memory to which NCCL wrote the handles is freed afterwards. */
int make_in_a_group(int first, int n, int size)
{
  ncclUniqueId id = {{"group"}};
  if (n == size) id.internal[0] = (char)getpid(); /* every process has its own */
  ncclComm_t *made = malloc((size_t)n * sizeof(ncclComm_t));
  if (made == NULL) return 1;
  int bad = ncclGroupStart();
  for (int i = 0; i < n; i++)
    bad |= ncclCommInitRankScalable(&made[i], size, first + i, 1, &id, NULL);
  bad |= ncclGroupEnd();
  memcpy(comms, made, (size_t)n * sizeof(ncclComm_t));
  memset(made, 0, (size_t)n * sizeof(ncclComm_t));
  free(made);
  return bad;
}

/* A communicator of all ranks, then one of the i-th rank of each process. In the latter the
 * index is the process's, so only the device identifies the rank. */
int make_pairs(int first, int n, int size)
{
  ncclUniqueId id = {{"all"}};
  int bad = 0;
  for (int pairs = 0; pairs < 2; pairs++)
    for (int i = 0; i < n; i++) {
      nccl_fake_device = i;
      if (pairs) snprintf(id.internal, sizeof id.internal, "pair %d", i);
      bad |= ncclCommInitRankScalable(&comms[i], pairs ? size / n : size,
                                      pairs ? first / n : first + i, 1, &id, NULL);
    }
  return bad;
}

/* A communicator of two ranks, then one of all ranks, all in this process. */
int make_wider(int first, int n, int size)
{
  ncclUniqueId id = {{"two"}};
  int bad = 0;
  for (int wide = 0; wide < 2; wide++) {
    if (wide) memcpy(id.internal, "all", sizeof "all");
    for (int i = 0; i < (wide ? n : 2); i++) {
      nccl_fake_device = i;
      bad |= ncclCommInitRankScalable(&comms[i], wide ? size : 2, first + i, 1, &id, NULL);
    }
  }
  return bad;
}

/* A split with a non-blocking configuration: complete once ncclCommGetAsyncError says so. */
int split_later(int i)
{
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t *made = calloc(1, sizeof *made);
  ncclResult_t state = ncclInProgress;
  if (made == NULL) return 1;
  config.blocking = 0;
  int bad = ncclCommSplit(comms[i], 0, i, made, &config) != ncclInProgress;
  while (!bad && state == ncclInProgress) bad = ncclCommGetAsyncError(comms[i], &state);
  comms[i] = *made;
  *made = NULL;
  free(made);
  return bad;
}

int reduce(int i, int count)
{
  return ncclAllReduce(NULL, NULL, (size_t)count, ncclFloat, ncclSum, comms[i], NULL);
}

int call_missing_function(void)
{
  return ncclReduceScatter(NULL, NULL, 1, ncclFloat, ncclSum, comms[0], NULL) != ncclSystemError;
}
