/* One run of `zeroproof train`, for the parts of it. */
#ifndef ZP_CLI_TRAIN_SESSION_H
#define ZP_CLI_TRAIN_SESSION_H

#include <argp.h>
#include <jansson.h>

#include "../model/text.h"
#include "../verify/train_agree.h"
#include "train.h"

/* Everything of one run of the command. */
typedef struct zp_train_session {
  zp_train_args *a;
  zp_config cfg;
  zp_text text;
  zp_workload work;
  double entropy;
  zp_mpi *mpi;
  int32_t speaks;       /* 1: this process prints */
  int save_lock;        /* of the folder of --save, or -1 */
  int32_t headed;       /* 1: what comes before the first step was said */
  zp_train_hyper hyper; /* a.o's, or those of the checkpoint that is loaded */
  zp_train_record record;
  zp_training job;
  zp_trainer trainer;
  zp_outcome out;
  zp_verify *verify;
  json_t *doc, *steps;
  zp_error err;
} zp_train_session;

/* The command's arguments: a zp_train_args. */
extern const struct argp zp_train_argp;
/* Fills in defaults; refuses what cannot be trained, or not by the engine. 0, or an
 * exit code after a message. */
int zp_train_settle(zp_train_args *a);

/* What is said before the first step (once, with its line at the latest), of each, and after the
 * last: an exit code. */
void zp_train_print_head(zp_train_session *s);
void zp_train_print_step(zp_train_session *s, const zp_step_result *r, int64_t ops, int64_t bytes);
int zp_train_conclude(zp_train_session *s);

/* Puts into s->doc which ranks ran on which host, and the bytes that they sent to other hosts; all
 * ranks of an MPI job call it. 0, or a negative status in s->err. */
int zp_train_put_hosts(zp_train_session *s);

/* After training on another engine: what it compared, and the report where a library multiplies. */
void zp_train_print_beside(zp_train_session *s, const zp_gemm_report *report);

#endif
