/* Reads a file of a Flight Recorder dump, as pickle or JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "flight.h"

/* Opens a regular file. A pipe of that name would block. Returns -1 (errno). */
static int open_file(const char *path, struct stat *about)
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  if (fstat(fd, about) == 0 && S_ISREG(about->st_mode)) return fd;
  close(fd);
  errno = EINVAL;
  return -1;
}

int zp_flight_like(const char *path)
{
  struct stat about;
  uint8_t first[64];
  const int fd = open_file(path, &about);
  if (fd < 0) return errno == EINVAL ? 0 : -1;
  const ssize_t n = pread(fd, first, sizeof first, 0);
  close(fd);
  if (n < 0) return -1;
  if (n >= 2 && first[0] == 0x80 && first[1] <= 5) return 1;
  for (ssize_t i = 0; i < n; i++)
    if (strchr(" \t\r\n", first[i]) == NULL || first[i] == 0) return first[i] == '{';
  return 0;
}

void zp_flight_read(zp_flight_file *f, zp_trace_failure *failure, const char *path)
{
  struct stat about;
  *f = (zp_flight_file){.failure = failure, .name = path};
  const int fd = open_file(path, &about);
  if (fd < 0)
    zp_trace_fail(failure, ZP_E_REFUSED, "%s: %s.", path,
                  errno == EINVAL ? "not a regular file" : strerror(errno));
  if (about.st_size > ZP_FLIGHT_BYTES) {
    close(fd);
    zp_trace_fail(failure, ZP_E_REFUSED, "%s: it has more than %d bytes.", path,
                  (int)ZP_FLIGHT_BYTES);
  }
  f->size = about.st_size;
  f->bytes = malloc((size_t)f->size + 1);
  if (f->bytes == NULL) {
    close(fd);
    zp_trace_fail(failure, ZP_E_MEMORY, "no memory for %zu bytes.", (size_t)f->size + 1);
  }
  int64_t have = 0;
  for (ssize_t n = 1; have < f->size && n > 0; have += n > 0 ? n : 0)
    n = pread(fd, f->bytes + have, (size_t)(f->size - have), have);
  close(fd);
  f->size = have;
  for (int kind = ZP_FLIGHT_NONE; kind <= ZP_FLIGHT_TRUE; kind++)
    (void)zp_flight_add(f, (zp_flight_value){.kind = (uint8_t)kind});
  if (f->size > 0 && (uint8_t)f->bytes[0] == 0x80) zp_flight_unpickle(f);
  else zp_flight_parse(f);
}

void zp_flight_free(zp_flight_file *f)
{
  for (int32_t i = 0; i < f->n; i++)
    if (f->at[i].kind >= ZP_FLIGHT_LIST) free(f->at[i].item);
  free(f->at);
  free(f->stack);
  free(f->memo);
  free(f->bytes);
  json_decref(f->json);
  *f = (zp_flight_file){.failure = f->failure};
}
