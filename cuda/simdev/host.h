/* Hosts: coroutines with stacks of their own. A host yields where a call blocks or polls, and at
 * calls that the seed chooses. */
#ifndef ZP_SIMDEV_HOST_H
#define ZP_SIMDEV_HOST_H
#include "race.h"
#include "ready.h"

typedef enum {
  SD_HOST_RUNNABLE,
  SD_HOST_BLOCKED,
  SD_HOST_POLLING,
  SD_HOST_AWAITING, /* a signal or a lock */
  SD_HOST_STOPPED,
  SD_HOST_ENDED
} sd_host_state;

struct sd_host {
  sd_agent agent;
  sd_host_state state;
  int32_t id, device, bound; /* bound: it has called cudaSetDevice */
  int (*fn)(void *, int);
  void *arg;
  void *sp;    /* saved stack pointer */
  char *stack; /* lowest address of its stack */
  sd_fiber *fiber;
  void *fake_stack;
  int result;
  int32_t for_idle; /* it waits until its device is idle, not for one item's result */
  int32_t call;     /* the rank's number of its current call */
  int64_t tag;      /* of what it issues */
  const char *call_name;
  const void *call_pc;
  const sd_item *blocked_by;
  sd_item *held;     /* that it blocked on last: its caller may read it afterwards */
  const sd_job *job; /* that it waits for */
  const sd_key *key; /* of the signal or lock that it waits for */
  cudaError_t last_error;
  int32_t muted;    /* ThreadSanitizer reported a race of it, and ignores its accesses for now */
  int32_t injected; /* the error that sd_call_enter returned is a fault */
  sd_stream **own;  /* [devices] per-thread default streams */
  sd_group *group;  /* open NCCL group */
};

typedef struct sd_hosts {
  sd_host **list;
  int32_t n, live;
  sd_host *running; /* NULL: the scheduler runs */
  void *main_sp, *main_race, *main_fake;
  const void *main_stack;
  size_t main_stack_bytes;
  int32_t unwound_calls; /* calls after the finding that ended the run */
} sd_hosts;

/* A rank's process. */
typedef struct sd_rank_process {
  cudaError_t sticky; /* an item failed: every later call returns this */
  int32_t calls;      /* so far */
  int32_t dead;       /* a fault ended the process: its streams do not run */
  int32_t lost;       /* its context is lost, as an item failed: neither do they then */
  int32_t faulty;     /* a fault was injected into a call: leaks result from it */
} sd_rank_process;

/* coroutine.c */
int sd_host_stack(simdev *s, sd_host *h);
void sd_host_close(simdev *s, sd_host *h);
int sd_host_begin(simdev *s, sd_host *h);
/* From the scheduler: returns when the host yields. */
void sd_host_resume(simdev *s, sd_host *h);
/* From the host: returns when it is scheduled again. It stays ready unless it was removed. */
void sd_host_yield(simdev *s, sd_host *h);
/* The host never runs again: a fault, or a run that has ended, stops it. */
void sd_host_stop(simdev *s, sd_host *h);

/* host_wait.c */
/* Blocks until the item has ended, and acquires nothing; -1: it will not end. */
int sd_host_block_on(sd_host *h, sd_item *item);
/* Waits for all items that the device's streams have now; this orders nothing for the host. */
cudaError_t sd_host_wait_for_idle(sd_host *h);
cudaError_t sd_wait_error(const sd_host *h); /* what a call returns after that -1 */
/* A poll found nothing. item: what the host polls for, or NULL. */
void sd_host_park(sd_host *h, sd_item *item);
void sd_host_wake(simdev *s, sd_host *h);
void sd_hosts_wake_polling(simdev *s, int32_t rank);          /* rank -1: of all ranks */
void sd_context_lost(simdev *s, int32_t rank, cudaError_t e); /* an item has failed */

/* call.c: the begin of every call of CUDA, NCCL and simdev. */
cudaError_t sd_call_enter(sd_host **h, const char *name, const void *pc);

static inline cudaError_t sd_error(sd_host *h, cudaError_t e)
{
  if (e != cudaSuccess) h->last_error = e; /* cudaErrorNotReady too, as in CUDA */
  return e;
}

#endif
