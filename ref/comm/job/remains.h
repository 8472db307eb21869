/* Ends what is left of a job on this host. Not installed. */
#ifndef ZP_COMM_REMAINS_H
#define ZP_COMM_REMAINS_H

#include <stdint.h>

/* Makes this process the parent of every descendant whose own parent ends. 0, or -1 with errno. */
int zp_remains_adopt(void);

/* Sends SIGKILL to all children of this process, and to all processes of this user that were
 * started with NAME=VALUE in their environment, whatever group or session they are in; waits until
 * they have ended, and until those that they have started meanwhile have; reaps the children.
 * Returns 0, or -1 after seconds_max; then `left` names the processes that are still there. *ended:
 * how many were there. */
int zp_remains_end(const char *name, const char *value, double seconds_max, int32_t *ended,
                   char *left, int cap);

#endif
