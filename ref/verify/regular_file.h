/* Files that are named by a user. */
#ifndef ZP_VERIFY_REGULAR_FILE_H
#define ZP_VERIFY_REGULAR_FILE_H

#include <stdio.h>

/* Opens a regular file for reading, or NULL: with errno, or with *regular = 0 for anything else. A
 * FIFO, a terminal or a device may never end; opening a FIFO does not block here. */
FILE *zp_open_regular(const char *name, int *regular);

#endif
