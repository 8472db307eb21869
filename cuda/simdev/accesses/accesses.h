/* Counts the bytes that the items of a run access: of each kernel, copy, memset and communication
 * the distinct bytes that it reads, and those that it writes, in device and in pinned memory.
 *
 * The counter is linked in place of ThreadSanitizer's runtime (sanitizer/watch.h): the compiler
 * reports each load and store of a kernel's C code, simdev those of copies, memsets and
 * communications. Each access marks its bytes in a bitmap, which is counted and cleared when the
 * item ends. So a count is of what the code did in this run: nothing is declared, a byte that
 * several threads of a launch read counts once, and a byte outside the intended range counts, too.
 * Two other ways were rejected: page protection sees pages of 4096 bytes, not bytes; counts that
 * kernels declare would repeat the mistake that they are to find. Not counted: shared memory, a
 * kernel's parameters, pageable and registered memory, accesses of hosts, and the words of
 * cuStreamWriteValue32.
 *
 * What a device moves may be more: caches work in sectors of 32 bytes, and a byte that is read
 * again after it left the cache is moved again. */
#ifndef ZP_SIMDEV_ACCESSES_H
#define ZP_SIMDEV_ACCESSES_H
#include <stdint.h>

enum { SIMDEV_IN_DEVICE, SIMDEV_IN_PINNED, SIMDEV_SPACES };
enum { SIMDEV_READ, SIMDEV_WRITTEN, SIMDEV_WAYS };

typedef struct simdev_access_bytes {
  int64_t bytes[SIMDEV_SPACES][SIMDEV_WAYS];
} simdev_access_bytes;

/* Of the item with this issue number (simdev_record), in the last run that began. */
simdev_access_bytes simdev_accesses_of(int64_t issue);

/* Releases the counter's memory. */
void simdev_accesses_close(void);

#endif
