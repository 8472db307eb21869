/* Reads traces: conformance/TRACE.md. A file is open only while its next few kilobytes are read, so
 * that a run of ten thousand ranks stays within the limit of open files. A trace that ends within
 * an item ends before that item. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

enum { BUFFER = 16384, PATH = 4096 };

const char *const zp_trace_ops[] = {"?",          "all_reduce", "reduce_scatter", "all_gather",
                                    "reduce",     "broadcast",  "gather",         "scatter",
                                    "all_to_all", "barrier",    "send",           "recv"};
static const char *const redops[ZP_TRACE_REDOPS] = {
    "?", "", "sum", "prod", "min", "max", "avg", "premul_sum", "band", "bor", "bxor"};
const char *const zp_trace_dtypes[ZP_TRACE_DTYPES] = {
    "?",    "i8",   "u8",      "i32",     "u32",  "i64", "u64", "fp16",      "fp32",
    "fp64", "bf16", "fp8e4m3", "fp8e5m2", "bool", "i16", "u16", "complex64", "complex128"};

/* Reads on from memory. */
static int fill_from_image(zp_trace_reader *r)
{
  const int64_t left = r->bytes - r->offset, n = left < BUFFER ? left : BUFFER;
  memcpy(r->buffer, r->image + r->offset, (size_t)n);
  r->at = 0;
  r->have = (int32_t)n;
  r->offset += n;
  return n > 0;
}

static int fill(zp_trace_reader *r)
{
  if (r->image != NULL) return fill_from_image(r);
  char path[PATH];
  if (r->path != NULL) snprintf(path, sizeof path, "%s", r->path);
  else snprintf(path, sizeof path, "%s/rank-%d.zpt", r->dir, (int)r->rank);
  /* opening a pipe of that name would block until a writer opens it */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    if (errno != ENOENT || r->path != NULL)
      zp_trace_fail(r->failure, ZP_E_REFUSED, "%s: %m.", path);
    return -1;
  }
  struct stat about;
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(fd);
    zp_trace_fail(r->failure, ZP_E_REFUSED,
                  r->path != NULL ? "%s: not a regular file."
                                  : "%s: not a regular file, expected the trace of rank %d.",
                  path, (int)r->rank);
  }
  r->bytes = about.st_size;
  const ssize_t n = pread(fd, r->buffer, BUFFER, r->offset);
  close(fd);
  if (n < 0) zp_trace_fail(r->failure, ZP_E_REFUSED, "%s: %m.", path);
  r->at = 0;
  r->have = (int32_t)n;
  r->offset += n;
  return n > 0;
}

/* The next byte, or -1. */
static inline int byte(zp_trace_reader *r)
{
  if (r->at == r->have && fill(r) <= 0) return -1;
  return r->buffer[r->at++];
}

/* Reads a LEB128 number. Returns -1 at the end of the file, -2 for an invalid encoding. */
static int64_t number(zp_trace_reader *r)
{
  uint64_t v = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    const int b = byte(r);
    if (b < 0) return -1;
    v |= (uint64_t)(b & 127) << shift;
    if (b < 128) return (int64_t)v;
  }
  return -2;
}

static int stop(zp_trace_reader *r, int64_t why)
{
  r->state = why == -1 ? ZP_TRACE_STOPPED : ZP_TRACE_DAMAGED;
  return 0;
}

/* Opens the trace of r->rank. */
static void begin(zp_trace_reader *r)
{
  r->buffer = zp_trace_grow(r->failure, NULL, 0, BUFFER, 1);
  if (fill(r) < 0) {
    r->state = ZP_TRACE_MISSING;
    free(r->buffer); /* most ranks of a large world may have no file */
    r->buffer = NULL;
    return;
  }
  for (int i = 0; i < 8; i++) {
    const int b = byte(r);
    if (b != (uint8_t)ZP_TRACE_MAGIC[i]) {
      stop(r, b < 0 ? -1 : -2);
      return;
    }
  }
  const int64_t mine = number(r), world = number(r);
  if (r->path != NULL && mine >= 0 && mine < ZP_TRACE_WORLD) r->rank = (int32_t)mine;
  if (mine < 0 || world < 0) stop(r, -1);
  else if (mine != r->rank || (world != 0 && world <= r->rank) || world > ZP_TRACE_WORLD)
    stop(r, -2);
  else r->world = (int32_t)world;
}

void zp_trace_open(zp_trace_reader *r, zp_trace_failure *failure, const char *dir, int32_t rank)
{
  *r = (zp_trace_reader){.failure = failure, .dir = dir, .rank = rank};
  begin(r);
}

void zp_trace_open_image(zp_trace_reader *r, zp_trace_failure *failure, int32_t rank,
                         const uint8_t *image, int64_t bytes)
{
  *r = (zp_trace_reader){
      .failure = failure, .dir = "", .rank = rank, .image = image, .bytes = bytes};
  begin(r);
}

void zp_trace_open_file(zp_trace_reader *r, zp_trace_failure *failure, const char *path)
{
  *r = (zp_trace_reader){.failure = failure, .dir = "", .rank = -1, .path = path};
  begin(r);
}

int zp_trace_is_none(const zp_trace_reader *r)
{
  const int64_t byte = r->offset - r->have + r->at; /* the next one */
  return r->state == ZP_TRACE_DAMAGED && byte < (int64_t)sizeof ZP_TRACE_MAGIC;
}

void zp_trace_close(zp_trace_reader *r)
{
  free(r->buffer);
  free(r->def);
  free(r->run);
  free(r->phases.at);
  free(r->sites.at);
  free(r->labels.at);
  free(r->keys.at);
  free(r->tensors.at);
  free(r->text);
  *r = (zp_trace_reader){.state = ZP_TRACE_STOPPED};
}

/* op redop dtype count+1 group root+1 flags phase */
static int64_t read_def(zp_trace_reader *r, zp_trace_def *d)
{
  int64_t v[8];
  for (int i = 0; i < 8; i++)
    if ((v[i] = number(r)) < 0) return v[i];
  if (v[0] < 1 || v[0] >= ZP_TRACE_OPS || v[1] >= ZP_TRACE_REDOPS || v[2] >= ZP_TRACE_DTYPES ||
      v[4] > INT32_MAX || v[5] > INT32_MAX || v[6] > (ZP_TRACE_ASYNC | ZP_TRACE_ANY) ||
      v[7] > INT32_MAX)
    return -2;
  if ((v[6] & ZP_TRACE_ANY) && (v[0] != ZP_TRACE_RECV || v[5] != 0)) return -2;
  *d = (zp_trace_def){
      {v[3] - 1, (int32_t)(v[5] - 1), (uint8_t)v[0], (uint8_t)v[1], (uint8_t)v[2], (uint8_t)v[6]},
      (int32_t)v[4],
      (int32_t)v[7],
      r->site,
      -1};
  return 0;
}

static int64_t read_name(zp_trace_reader *r, zp_trace_item *item)
{
  const int64_t n = number(r);
  if (n < 0) return n;
  if (n >= ZP_TRACE_NAME) return -2;
  uint8_t raw[ZP_TRACE_NAME];
  for (int64_t i = 0; i < n; i++) {
    const int b = byte(r);
    if (b < 0) return -1;
    raw[i] = (uint8_t)b;
  }
  zp_trace_clean_text(raw, n, item->name, sizeof item->name);
  return 0;
}

static int64_t read_phase(zp_trace_reader *r, zp_trace_item *item)
{
  const int64_t bad = read_name(r, item);
  if (bad == 0) zp_trace_keep_text(r, &r->phases, item->number, item->name);
  return bad;
}

static int64_t read_source(zp_trace_reader *r, zp_trace_item *item)
{
  const int64_t place = number(r);
  if (place < 0) return place;
  if (place == 0 || place > INT32_MAX) return -2;
  item->source = (int32_t)(place - 1);
  return 0;
}

/* first, stride (zigzag), length */
static int64_t read_run(zp_trace_reader *r, zp_trace_run *run)
{
  const int64_t first = number(r), zigzag = number(r), length = number(r), world = r->world;
  if (first < 0 || zigzag < 0 || length < 0) return -1;
  if (first >= world || zigzag > 2 * world || length < 1 || length > world) return -2;
  const int64_t stride = (zigzag & 1) ? -(zigzag >> 1) - 1 : zigzag >> 1;
  const int64_t last = first + (length - 1) * stride;
  if (last < 0 || last >= world) return -2;
  *run = (zp_trace_run){(int32_t)first, (int32_t)stride, (int32_t)length};
  return 0;
}

/* size, place+1, the number of runs, and the runs of members. Memory is allocated run by run, so
 * that a small file takes little memory whatever its numbers are. */
static int64_t read_group(zp_trace_reader *r, zp_trace_item *item)
{
  int64_t bad = read_name(r, item);
  if (bad) return bad;
  const int64_t size = number(r), place = number(r), runs = number(r);
  if (size < 0 || place < 0 || runs < 0) return -1;
  if (size > INT32_MAX || place > size || runs > size || runs > r->world) return -2;
  int64_t n = 0;
  for (int32_t i = 0; i < runs; i++) {
    if (i == r->runs_cap) {
      const int32_t cap = i ? 2 * i : 1;
      r->run = zp_trace_grow(r->failure, r->run, (size_t)i, (size_t)cap, sizeof *r->run);
      r->runs_cap = cap;
    }
    bad = read_run(r, &r->run[i]);
    if (bad) return bad;
    n += r->run[i].length;
  }
  if (n != 0 && n != size) return -2;
  item->size = (int32_t)size;
  item->place = (int32_t)place - 1;
  item->members = (int32_t)n;
  item->run = r->run;
  item->runs = (int32_t)runs;
  return 0;
}

/* kind, length, and that many bytes */
static int64_t read_extension(zp_trace_reader *r)
{
  uint8_t body[ZP_TRACE_BODY];
  const int64_t kind = number(r), length = number(r);
  if (kind < 0 || length < 0) return kind < 0 ? kind : length;
  for (int64_t i = 0; i < length; i++) {
    const int b = byte(r);
    if (b < 0) return -1;
    if (i < ZP_TRACE_BODY) body[i] = (uint8_t)b;
  }
  return zp_trace_read_extension(r, kind, body, length);
}

static int give_def(zp_trace_reader *r, zp_trace_item *item, int64_t id)
{
  if (id >= r->defs || r->def[id].sig.op == 0) return stop(r, -2);
  item->kind = ZP_TRACE_OP;
  item->op = &r->def[id];
  r->last = item->op;
  r->records++;
  return 1;
}

static int64_t define(zp_trace_reader *r)
{
  zp_trace_def d;
  const int64_t id = number(r);
  if (id < 0) return id;
  if (id >= ZP_TRACE_DEFS) return -2;
  const int64_t bad = read_def(r, &d);
  if (bad) return bad;
  if (id >= r->defs) {
    const int32_t n = (int32_t)(id < 16 ? 16 : id < 128 ? 128 : ZP_TRACE_DEFS);
    r->last = NULL; /* it may move */
    r->def = zp_trace_grow(r->failure, r->def, (size_t)r->defs, (size_t)n, sizeof *r->def);
    r->defs = n;
  }
  r->def[id] = d;
  return 0;
}

int zp_trace_next(zp_trace_reader *r, zp_trace_item *item)
{
  int64_t bad = 0;
  while (r->state == ZP_TRACE_READING) {
    const int64_t tag = number(r);
    if (tag < 0) return stop(r, tag);
    if (tag >= ZP_TRACE_FIRST_DEF) return give_def(r, item, tag - ZP_TRACE_FIRST_DEF);
    item->kind = (int)tag;
    switch (tag) {
    case ZP_TRACE_HOLE: return stop(r, -1);
    case ZP_TRACE_CALL:
    case ZP_TRACE_CALL_END: return 1;
    case ZP_TRACE_END: r->state = ZP_TRACE_ENDED; return 1;
    case ZP_TRACE_DEF:
      bad = define(r);
      if (bad) return stop(r, bad);
      continue;
    case ZP_TRACE_EXTENSION:
      r->returned = 0;
      r->value.kind = 0;
      bad = read_extension(r);
      if (bad) return stop(r, bad);
      if (r->state == ZP_TRACE_ENDED) {
        item->kind = ZP_TRACE_END;
        return 1;
      }
      if (r->value.kind != 0 && r->wants_values) {
        item->kind = ZP_TRACE_VALUE;
        return 1;
      }
      if (!r->want_returns || r->returned <= 0 || r->returned > r->records) continue;
      item->kind = ZP_TRACE_RETURNED;
      item->number = r->returned;
      return 1;
    case ZP_TRACE_OP:
      bad = read_def(r, &r->inline_op);
      if (bad) return stop(r, bad);
      item->op = &r->inline_op;
      r->last = item->op;
      r->records++;
      return 1;
    case ZP_TRACE_GROUP:
    case ZP_TRACE_PHASE:
    case ZP_TRACE_STEP:
    case ZP_TRACE_WAIT:
    case ZP_TRACE_SOURCE:
    case ZP_TRACE_TIME: break;
    default: return stop(r, -2);
    }
    item->number = number(r);
    if (item->number < 0) return stop(r, item->number);
    if (tag == ZP_TRACE_TIME) {
      if (item->number > INT64_MAX - r->ns) return stop(r, -2);
      r->ns += item->number;
      continue;
    }
    if (tag == ZP_TRACE_GROUP) bad = read_group(r, item);
    if (tag == ZP_TRACE_SOURCE) bad = read_source(r, item);
    if (tag == ZP_TRACE_PHASE) bad = read_phase(r, item);
    if (tag == ZP_TRACE_WAIT && item->number > r->records)
      bad = -2; /* a wait for an operation that was never entered */
    if (bad) return stop(r, bad);
    return 1;
  }
  return 0;
}

int32_t zp_trace_named(const char *dir, uint8_t *has)
{
  DIR *d = opendir(dir);
  if (d == NULL) return -1;
  int32_t most = -1;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    int rank = -1, end = 0;
    if (sscanf(e->d_name, "rank-%9d.zpt%n", &rank, &end) != 1 || end <= 0 || e->d_name[end] != 0)
      continue;
    if (rank > most) most = rank;
    if (has != NULL && rank >= 0 && rank < ZP_TRACE_WORLD) has[rank] = 1;
  }
  closedir(d);
  if (most < ZP_TRACE_WORLD) return most + 1;
  errno = EOVERFLOW;
  return -1;
}

void zp_trace_describe(const zp_trace_sig *s, char *text, size_t cap)
{
  char count[64] = "", root[32] = "";
  const char *dtype = zp_trace_dtypes[s->dtype];
  if (s->op == ZP_TRACE_BARRIER && s->count <= 0) count[0] = 0; /* it has no elements */
  else if (s->count >= 0) snprintf(count, sizeof count, " of %" PRId64 " %s", s->count, dtype);
  else if (s->dtype != 0) snprintf(count, sizeof count, " of ? %s", dtype);
  if (s->root >= 0)
    snprintf(root, sizeof root, "%s%d",
             s->op == ZP_TRACE_SEND   ? " to group rank "
             : s->op == ZP_TRACE_RECV ? " from group rank "
                                      : " root ",
             (int)s->root);
  if (s->flags & ZP_TRACE_ANY) snprintf(root, sizeof root, " from any source");
  snprintf(text, cap, "%s%s%s%s%s", zp_trace_ops[s->op], s->redop > 1 ? " " : "",
           s->redop > 1 ? redops[s->redop] : "", count, root);
}
