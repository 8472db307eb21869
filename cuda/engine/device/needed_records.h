/* Which records of a step some stream waits for, as far as the program determines it. The engine
 * leaves out the others. What depends on announcements (whether an entry is unused or comes before
 * its turn, and on which stream) is not known when the record is due.
 * spec: STRM-2, STRM-3, STRM-4 */
#ifndef ZP_CUDA_NEEDED_RECORDS_H
#define ZP_CUDA_NEEDED_RECORDS_H

#include "plan.h"
#include "progress.h"

/* Fills p->needed, which is zeroed. 0, or -1 without memory. */
int zp_cuda_find_needed_records(zp_cuda_plan *p);

/* 1: some stream waits for the record of the op that is being issued. */
int zp_cuda_record_is_needed(const zp_cuda_plan *p, const zp_cuda_position *host);

#endif
