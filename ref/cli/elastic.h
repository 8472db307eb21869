/* Parts of `zeroproof elastic`. */
#ifndef ZP_CLI_ELASTIC_H
#define ZP_CLI_ELASTIC_H

#include "launch.h"
#include "train.h"

/* A host with slots for ranks. */
typedef struct zp_host {
  char name[256];
  int64_t slots;   /* that are left */
  int64_t ranks;   /* of the attempt that runs, or ran last */
  int32_t here;    /* 1: this host */
  int32_t answers; /* 0: it could not be cleared of the last attempt, and is not used in the next */
  int32_t asked;   /* 1: an agent is under way to it */
} zp_host;

enum { ZP_HOSTS_MAX = 512 };

typedef struct zp_hosts {
  zp_host at[ZP_HOSTS_MAX];
  int32_t n;
  const char *file; /* NULL: only this host */
} zp_hosts;

/* A size of the job: pp · dp ranks. */
typedef struct zp_elastic_size {
  int32_t pp, dp;
  int64_t micro_batches;
} zp_elastic_size;

/* The sizes that a training run may have with its global batch, dp · M: every pp and dp that the
 * configuration admits. Sorted by ranks, the largest first; of equally many ranks, the pp that is
 * nearest to the command's first. a: of a command that is settled; its pp, dp and micro-batches
 * change. *n of them, malloc'ed; NULL without memory. spec: CKPT-5 */
zp_elastic_size *zp_elastic_sizes(zp_train_args *a, int64_t *n);

/* "6 (pp 2, dp 3), 4 (pp 2, dp 2), …": what zp_elastic_sizes has found, by ranks, each once. */
void zp_elastic_list(const zp_elastic_size *size, int64_t n, char *text, int cap);

/* How an attempt ended. */
typedef struct zp_attempt {
  int status;        /* of the launch process, as waitpid returns it */
  int cancelled;     /* the signal that this process received, or 0 */
  int32_t stalled;   /* 1: it printed nothing for too long */
  int32_t lost;      /* the rank that was lost; -1: not known */
  int32_t host_lost; /* 1: with all of its host */
  char host[64];     /* where it ran, as zp_launch_report */
  int32_t ended;     /* processes that were left, and were ended */
  int output_error;  /* errno of a write to standard output that failed, or 0 */
  char left[256];    /* processes that could not be ended, or "" */
  char text[2048];   /* why the job ended, as a sentence; "": its exit code says it */
} zp_attempt;

typedef struct zp_attempt_args {
  char **argv; /* of `zeroproof launch`, NULL-terminated */
  const zp_backend *engine;
  const char *mark; /* value of ZP_ELASTIC_VARIABLE in the job's processes */
  int log;          /* the job's standard error; -1: that of this process */
  double stall_s;   /* 0: no limit */
} zp_attempt_args;

/* Runs `zeroproof launch` in a child process, forwards its standard output, and waits until every
 * process of the job has ended, however it ended. 0, or -1 with errno if it cannot be started. */
int zp_attempt_run(const zp_attempt_args *args, zp_attempt *out);

/* Reads a file of lines "NAME slots=N", # begins a comment. 0, or -1 with what is wrong in why. */
int zp_hosts_read(zp_hosts *h, const char *path, char *why, size_t cap);

/* Slots that the next attempt may use, and on how many hosts. */
int64_t zp_hosts_slots(const zp_hosts *h, int32_t *hosts);

/* Places so many ranks in the order of the hosts, and writes a file for mpirun, whose name is put
 * into path: "" if there is only this host. 0, or -1 with errno. */
int zp_hosts_write(zp_hosts *h, int64_t ranks, char *path, size_t cap);

/* Sends SIGKILL to every process of the job on the other hosts, and waits until all have ended: the
 * agent (NULL: ssh) starts `zeroproof elastic --end-marked` on each, on all at once. A host that
 * does not answer in time, or on which a process is left, is reported and not used any more
 * (returns = 1: not in the next attempt). How many those are; -1 with errno. */
int32_t zp_hosts_clear(zp_hosts *h, const char *agent, const char *mark, int returns);

/* Takes the slot of the rank that an attempt has lost, or all of its host; after zp_hosts_clear. */
void zp_hosts_lose(zp_hosts *h, const zp_attempt *a);

/* On another host, for zp_hosts_clear: ends the processes with this mark. The exit code; what could
 * not be ended is printed. */
int zp_hosts_end_marked(const char *mark);

#endif
