/* All ranks of a training run under MPI have the same settings. */
#ifndef ZP_VERIFY_TRAIN_AGREE_H
#define ZP_VERIFY_TRAIN_AGREE_H

#include "train.h"

/* Compares everything that can change a bit of the run, or its collectives, with rank 0's, and the
 * program itself by a hash of its file. Collective over job->mpi, before anything else. 0, or a
 * negative status in *err. spec: STEP-10 */
int zp_train_agree(const zp_training *job, zp_error *err);

#endif
