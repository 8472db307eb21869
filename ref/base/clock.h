/* The monotonic clock of ref, cuda and their tests; simdev includes nothing of the project and has
 * its own. */
#ifndef ZP_BASE_CLOCK_H
#define ZP_BASE_CLOCK_H

#include <stdint.h>

/* Time since some moment in the past, which never goes backwards. */
int64_t zp_clock_ns(void);
double zp_clock_s(void);

#endif
