/* One process of a job as its environment says: exchanges bytes three times and says what came.
 * job_driver [PATIENCE_S [LATE_RANK]]: LATE_RANK is late for the second exchange, so that others
 * are ahead of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../ref/comm/job/job.h"

enum { BYTES = 100000 }; /* more than a socket takes at once */

int main(int argc, char **argv)
{
  static zp_error err;
  static char bytes[BYTES];
  zp_job job;
  if (zp_job_read(&job, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return 2;
  }
  job.patience_s = argc > 1 ? atof(argv[1]) : 0;
  for (int n = 0; n < 3; n++) {
    memset(bytes, job.rank == 0 ? 'a' + n : '?', BYTES);
    if (n == 1 && argc > 2 && job.rank == atoi(argv[2])) usleep(300000);
    if (zp_job_exchange(&job, job.rank, bytes, n == 0 ? 1 : BYTES)) {
      fprintf(stderr, "%s\n", job.why);
      return 3;
    }
    printf("rank %d of %d, on this host %d of %d: %c%c\n", (int)job.rank, (int)job.world,
           (int)job.local_rank, (int)job.local_world, bytes[0], bytes[n == 0 ? 0 : BYTES - 1]);
  }
  return 0;
}
