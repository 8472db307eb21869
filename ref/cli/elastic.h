/* Parts of `zeroproof elastic`. */
#ifndef ZP_CLI_ELASTIC_H
#define ZP_CLI_ELASTIC_H

#include "train.h"

/* A host with slots for ranks. */
typedef struct zp_host {
  char name[256];
  int64_t slots;
} zp_host;

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
  int status;       /* of the launch process, as waitpid returns it */
  int cancelled;    /* the signal that this process received, or 0 */
  int32_t stalled;  /* 1: it printed nothing for too long */
  int32_t lost;     /* the rank that was lost; -1: not known */
  int32_t ended;    /* processes that were left, and were ended */
  int output_error; /* errno of a write to standard output that failed, or 0 */
  char left[256];   /* processes that could not be ended, or "" */
  char text[2048];  /* why the job ended, as a sentence; "": its exit code says it */
} zp_attempt;

typedef struct zp_attempt_args {
  char **argv; /* of `zeroproof launch`, NULL-terminated */
  const zp_backend *engine;
  const char *mark; /* value of ZP_ELASTIC_VARIABLE in the job's processes */
  double stall_s;   /* 0: no limit */
} zp_attempt_args;

#define ZP_ELASTIC_VARIABLE "ZEROPROOF_ELASTIC"

/* Runs `zeroproof launch` in a child process, forwards its standard output, and waits until every
 * process of the job has ended, however it ended. 0, or -1 with errno if it cannot be started. */
int zp_attempt_run(const zp_attempt_args *args, zp_attempt *out);

#endif
