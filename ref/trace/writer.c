/* Whether the process that writes a trace still runs. The recorder holds a lock on its file until
 * its process ends. conformance/TRACE.md */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

void zp_trace_host(char host[ZP_TRACE_HOST])
{
  host[0] = 0;
  FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == NULL) return;
  if (fgets(host, ZP_TRACE_HOST, file) != NULL) host[strcspn(host, "\n")] = 0;
  fclose(file);
}

int zp_trace_is_locked(const char *path)
{
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  const int failed = fcntl(fd, F_GETLK, &lock) != 0;
  close(fd);
  return failed ? -1 : lock.l_type != F_UNLCK;
}

zp_trace_writer zp_trace_writer_of(const zp_trace_reader *r, const char *host, int locked)
{
  /* locks of another host may not be visible here */
  if (locked < 0 || host[0] == 0 || strcmp(host, r->locked) != 0) return ZP_WRITER_UNKNOWN;
  return locked ? ZP_WRITER_RUNS : ZP_WRITER_ENDED;
}
