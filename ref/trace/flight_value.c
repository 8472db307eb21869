/* The values of a Flight Recorder dump: an array without owners, so that a value that is used many
 * times, or that contains itself, needs no recursion to free. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "flight.h"

int32_t zp_flight_add(zp_flight_file *f, zp_flight_value v)
{
  if (f->n == ZP_FLIGHT_VALUES)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: it has more than %d values.", f->name,
                  (int)ZP_FLIGHT_VALUES);
  if (f->n == f->cap) {
    const int32_t cap = f->cap ? 2 * f->cap : 256;
    f->at = zp_trace_grow(f->failure, f->at, (size_t)f->cap, (size_t)cap, sizeof *f->at);
    f->cap = cap;
  }
  f->at[f->n] = v;
  return f->n++;
}

void zp_flight_append(zp_flight_file *f, int32_t list, int32_t item)
{
  zp_flight_value *v = &f->at[list];
  const int32_t depth = f->at[item].depth + 1;
  if (depth > ZP_FLIGHT_DEPTH)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: lists are nested more than %d deep.", f->name,
                  (int)ZP_FLIGHT_DEPTH);
  if (f->items++ == ZP_FLIGHT_ITEMS)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: its lists have more than %d items.", f->name,
                  (int)ZP_FLIGHT_ITEMS);
  if (v->n == v->cap) {
    const int32_t cap = v->cap ? 2 * v->cap : 4;
    v->item = zp_trace_grow(f->failure, v->item, (size_t)v->cap, (size_t)cap, sizeof *v->item);
    v->cap = cap;
  }
  v->item[v->n++] = item;
  if (depth > v->depth) v->depth = (uint8_t)depth;
}

const zp_flight_value *zp_flight_item(const zp_flight_file *f, const zp_flight_value *list,
                                      int32_t i)
{
  if (list->kind != ZP_FLIGHT_LIST || i < 0 || i >= list->n) return &f->at[ZP_FLIGHT_NONE];
  return &f->at[list->item[i]];
}

const zp_flight_value *zp_flight_get(const zp_flight_file *f, const zp_flight_value *dict,
                                     const char *key)
{
  const size_t n = strlen(key);
  if (dict->kind != ZP_FLIGHT_DICT) return &f->at[ZP_FLIGHT_NONE];
  for (int32_t i = dict->n - 2; i >= 0; i -= 2) { /* the last one of equal keys counts */
    const zp_flight_value *k = &f->at[dict->item[i]];
    if (k->kind == ZP_FLIGHT_TEXT && (size_t)k->n == n && memcmp(k->text, key, n) == 0)
      return &f->at[dict->item[i + 1]];
  }
  return &f->at[ZP_FLIGHT_NONE];
}

int64_t zp_flight_integer(const zp_flight_value *v, int64_t otherwise)
{
  int64_t n = 0;
  if (v->kind == ZP_FLIGHT_INTEGER) return v->integer;
  if (v->kind != ZP_FLIGHT_TEXT || v->n < 1 || v->n > 18) return otherwise;
  for (int32_t i = 0; i < v->n; i++) {
    if (v->text[i] < '0' || v->text[i] > '9') return otherwise;
    n = 10 * n + (v->text[i] - '0');
  }
  return n;
}

void zp_flight_text(const zp_flight_value *v, char *text, size_t cap)
{
  if (v->kind == ZP_FLIGHT_TEXT) zp_trace_clean_text((const uint8_t *)v->text, v->n, text, cap);
  else text[0] = 0;
}

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
