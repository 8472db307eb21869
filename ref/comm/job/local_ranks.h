/* The processes of a job on this host. Not installed. */
#ifndef ZP_COMM_LOCAL_RANKS_H
#define ZP_COMM_LOCAL_RANKS_H

#include "job.h"

/* Which of them reports a refusal? Returns at once if all processes of lower local ranks run this
 * program with other arguments, or in another folder: none of them is refused for the same reason.
 * One with the same arguments reports the same, and then the launcher ends this process; returns
 * after same_s if it does not. Returns after other_s in which none with the same arguments has run:
 * one has ended or not begun, or runs another program. Linux. */
void zp_local_ranks_await(const zp_job *job, double same_s, double other_s);

#endif
