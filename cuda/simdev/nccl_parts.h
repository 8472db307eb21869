/* The functions that the files of simdev's NCCL call of each other. */
#ifndef ZP_SIMDEV_NCCL_PARTS_H
#define ZP_SIMDEV_NCCL_PARTS_H
#include "nccl_types.h"

/* nccl_call.c: the begin of every call; the first one of a run makes s->nccl_state. */
ncclResult_t sd_nccl_call_enter(sd_host **h, const char *name, const void *pc);
/* ready: the call requires that the communicator's earlier calls have ended. */
ncclResult_t sd_comm_check(sd_host *h, const sd_comm *comm, int ready);
/* "1": the variable is set to that. */
int sd_is_set(const char *variable);

/* nccl_ops.c */
extern const sd_nccl_ops sd_nccl_ops_table;

/* nccl_comm.c */
sd_clique *sd_clique_make(simdev *s, int32_t n);
sd_comm *sd_comm_make(sd_host *h, const ncclConfig_t *config, const sd_comm *parent);
int sd_clique_join(simdev *s, sd_clique *c, sd_comm *comm, int32_t index, sd_job *job);

/* nccl_job.c */
sd_job *sd_job_make(sd_host *h, sd_job_kind kind, sd_comm *comm);
int sd_job_wait(sd_host *h, sd_job *job); /* -1: the run has ended */
/* The host waits for the job now, or at the end of its group, or, if not blocking, never. */
ncclResult_t sd_job_after(sd_host *h, sd_job *job, int blocking);
void sd_job_ready(simdev *s, sd_job *job);
void sd_job_wake_host(simdev *s, sd_job *job);
/* The communicator's deferred jobs can run; NULL: those of all. */
void sd_job_release_deferred(simdev *s, const sd_comm *comm);
/* Members that have finalized proceed if all members have and none of them has work left. */
void sd_finalize_check(simdev *s, sd_clique *c);

/* nccl_connect.c. 1: the host of these launches has to wait for its peers first. */
int sd_connects(simdev *s, const sd_launch *list);
/* The job waits for the peers of its launches. */
void sd_job_connect(simdev *s, sd_job *job);
/* A member has called operations: jobs that waited for them can run. */
void sd_jobs_connected(simdev *s);
/* Jobs that wait for peers of the communicator never run; blocking calls that wait for them
 * return. */
void sd_jobs_give_up(simdev *s, const sd_comm *comm);
void sd_jobs_append_connecting(simdev *s);

/* nccl_launch.c */
void sd_launch_issue(simdev *s, sd_launch *l, uint64_t *in);
/* Checks all streams of a rank whose communication may be able to begin now. */
void sd_launch_recheck(simdev *s, int32_t rank);
int sd_launch_is_ready(simdev *s, sd_item *item);
void sd_launch_step(simdev *s, sd_item *item);
int sd_launch_is_first(const sd_item *item);
int sd_launch_uses(const sd_item *item, const char *low, const char *high);

/* nccl_data.c */
size_t sd_dtype_bytes(ncclDataType_t t);
/* Reduces [first, first + n) of the members' contributions into to, in an order that the seed
 * chooses, rounding after every addition. */
void sd_reduce(simdev *s, const sd_coll *c, int32_t members, size_t first, size_t n, void *to);

/* nccl_match.c: 0, or -1 after a mismatch was noted. */
int sd_match(simdev *s, sd_op *op);

/* nccl_text.c */
const char *sd_comm_name(const sd_comm *comm, char *text, size_t cap);
void sd_op_text(const sd_op *op, char *text, size_t cap);
void sd_launch_text(const sd_item *item, char *text, size_t cap);
void sd_launch_append_missing(simdev *s, const sd_item *item);
void sd_job_append_missing(simdev *s, const sd_job *job);
/* The members that have not called the operation. */
void sd_op_append_uncalled(simdev *s, const sd_op *op);

#endif
