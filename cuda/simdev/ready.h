/* Agents (hosts, streams, NCCL's jobs) and the set of those that can run. */
#ifndef ZP_SIMDEV_READY_H
#define ZP_SIMDEV_READY_H
#include "base.h"

typedef enum { SD_HOST, SD_STREAM, SD_JOB } sd_agent_kind;

struct sd_agent {
  sd_agent_kind kind;
  int32_t rank;
  int32_t at;   /* position in the ready set; -1: not ready */
  int32_t slow; /* runs only when all other ready agents are slow, too */
  uint64_t priority;
  uint64_t issue;     /* of the item at the head; of a host: when it ran last */
  sd_item *waits_for; /* the item in whose list of waiters it is, or NULL */
  sd_agent *next;     /* in that list */
};

enum { SD_PCT_CHANGES_MAX = 16, SD_QUEUES_MAX = 32 /* of CUDA_DEVICE_MAX_CONNECTIONS */ };

typedef struct sd_scheduler {
  sd_agent **ready;
  int32_t ready_n, agents; /* agents: all that can ever be ready in this run */
  int64_t ready_cap;
  int64_t decisions;
  uint64_t clock_ns, turns; /* turns: numbers for the agents' `issue` */
  int32_t idle_rounds;      /* rounds of polling since anything was done */
  int64_t pct_change[SD_PCT_CHANGES_MAX];
  int32_t pct_changes;
  uint64_t pct_low; /* the lowest priority that was given so far */
} sd_scheduler;

/* What CUDA and NCCL leave open, as this run has it. */
typedef struct sd_choices {
  int32_t preempt_256; /* of 256 calls, so many let others run first */
  int32_t one_comm, serialize, remote, late, lazy, connect, idle_memory, registers, priorities;
  int32_t queues; /* of a device; 0: each stream has its own */
  int32_t early;  /* sends: 0 wait for the receive, 1 never do, 2 each one at random */
} sd_choices;

/* Draws the choices that the options leave to the seed, and PCT's changes of priority. */
void sd_choices_draw(simdev *s);

int sd_agent_make(simdev *s, sd_agent *a, sd_agent_kind kind, int32_t rank);
void sd_ready_add(simdev *s, sd_agent *a);
void sd_ready_remove(simdev *s, sd_agent *a);
/* Adds the agent to those that are ready when the item ends, and removes it from that list. */
void sd_waiters_add(sd_item *item, sd_agent *a);
void sd_waiters_leave(sd_agent *a);
/* PCT: the agent polls; it gets the lowest priority, as it would always be chosen otherwise. */
void sd_agent_lower(simdev *s, sd_agent *a);
/* Something was done, so that polling is not fruitless yet. */
void sd_progress(simdev *s);
uint64_t sd_next_turn(simdev *s);

/* schedule.c: runs hosts, streams and jobs until all have ended, or to a finding that ends the
 * run. */
void sd_schedule_run(simdev *s);

#endif
