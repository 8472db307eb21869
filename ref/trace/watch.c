/* Follows the traces of a running job. A reader stops at the end of its file, maybe within an item;
 * the next look continues at the item before which it stopped. */
#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 16384 };

static void forget(zp_watch *w)
{
  for (int32_t r = 0; r < w->world; r++) {
    w->rank[r].reader.buffer = NULL;
    zp_trace_close(&w->rank[r].reader);
  }
  free(w->rank);
  w->rank = NULL;
  if (w->named != NULL) memset(w->named, 0, ZP_TRACE_WORLD);
  w->world = w->files = w->ended = w->failed = 0;
  w->records = w->most = w->changed = 0;
}

void zp_watch_free(zp_watch *w)
{
  forget(w);
  free(w->buffer);
  free(w->named);
}

static void grow(zp_watch *w, int32_t world)
{
  if (world <= w->world) return;
  w->rank = zp_trace_grow(&w->failure, w->rank, (size_t)w->world, (size_t)world, sizeof *w->rank);
  for (int32_t r = w->world; r < world; r++) w->rank[r].step = -1;
  w->world = world;
}

static void note_op(zp_watched *k, const zp_trace_def *d)
{
  char text[160];
  const char *site = d->site > 0 ? zp_trace_text(&k->reader, &k->reader.sites, d->site) : "";
  zp_trace_describe(&d->sig, text, sizeof text);
  snprintf(k->last, sizeof k->last, "%s%s%.*s%s", text, site[0] ? " (" : "",
           (int)(strcspn(site, ";") < 120 ? strcspn(site, ";") : 120), site, site[0] ? ")" : "");
}

/* Reads on in the trace of a rank. What precedes an incomplete item is read again the next time. */
static void read_on(zp_watched *k)
{
  zp_trace_reader *r = &k->reader;
  zp_trace_item item;
  for (;;) {
    const int64_t at = r->offset - r->have + r->at, ns = r->ns, records = r->records;
    const int32_t site = r->site;
    if (zp_trace_next(r, &item)) {
      if (item.kind == ZP_TRACE_STEP) k->step = item.number;
      if (item.kind == ZP_TRACE_OP) note_op(k, item.op);
      continue;
    }
    if (r->state == ZP_TRACE_STOPPED && r->exit.how == ZP_TRACE_NO_EXIT) {
      r->offset = at;
      r->at = r->have = 0;
      r->ns = ns;
      r->records = records;
      r->site = site;
      r->state = ZP_TRACE_READING;
    }
    return;
  }
}

/* Opens the trace of a rank, unless it is open. Returns 0 if its header is not complete yet. */
static int open_trace(zp_watch *w, zp_watched *k, int32_t rank)
{
  if (k->opened) return 1;
  zp_trace_open(&k->reader, &w->failure, w->dir, rank);
  free(k->reader.buffer);
  k->reader.buffer = NULL;
  if (k->reader.state == ZP_TRACE_STOPPED || k->reader.state == ZP_TRACE_MISSING) {
    zp_trace_close(&k->reader);
    return 0;
  }
  k->opened = 1;
  k->reader.offset += k->reader.at - k->reader.have;
  k->reader.at = k->reader.have = 0;
  return 1;
}

/* Reads what was added to the trace of a rank. */
static void read_added(zp_watch *w, zp_watched *k, const char *path, int32_t rank)
{
  struct stat about;
  if (stat(path, &about) != 0) return;
  const int64_t changed = (int64_t)about.st_mtim.tv_sec * 1000000000 + about.st_mtim.tv_nsec;
  if (changed > w->changed) w->changed = changed;
  if (k->opened && about.st_size == k->reader.bytes && changed == k->changed) return;
  k->changed = changed;
  if (!open_trace(w, k, rank)) return;
  k->reader.buffer = w->buffer;
  if (k->reader.state == ZP_TRACE_READING) read_on(k);
  k->reader.buffer = NULL;
  k->reader.bytes = about.st_size;
}

static void look_at(zp_watch *w, int32_t rank)
{
  char path[4200];
  zp_watched *k = &w->rank[rank];
  snprintf(path, sizeof path, "%s/rank-%d.zpt", w->dir, (int)rank);
  read_added(w, k, path, rank);
  if (!k->opened || k->reader.state != ZP_TRACE_READING) return;
  k->writer = zp_trace_writer_of(&k->reader, w->host, zp_trace_is_locked(path));
  /* it may have written an end mark since the file was read */
  if (k->writer == ZP_WRITER_ENDED) read_added(w, k, path, rank);
}

static void sum(zp_watch *w)
{
  w->files = w->ended = w->failed = 0;
  w->records = w->most = 0;
  for (int32_t r = 0; r < w->world; r++) {
    const zp_watched *k = &w->rank[r];
    const int failed = k->reader.exit.how != ZP_TRACE_NO_EXIT ||
                       k->reader.state == ZP_TRACE_DAMAGED ||
                       (k->reader.state == ZP_TRACE_READING && k->writer == ZP_WRITER_ENDED);
    w->files += k->opened;
    w->ended += k->opened && (failed || k->reader.state == ZP_TRACE_ENDED);
    w->failed += k->opened && failed;
    w->records += k->reader.records;
    if (k->reader.records > w->most) w->most = k->reader.records;
  }
}

int zp_watch_look(zp_watch *w, const char *dir, zp_error *err)
{
  if (setjmp(w->failure.leave) != 0) {
    for (int32_t r = 0; r < w->world; r++) w->rank[r].reader.buffer = NULL;
    return zp_fail(err, w->failure.err.status, -1, "%s", w->failure.err.text);
  }
  if (dir == NULL) return 0;
  if (strcmp(dir, w->dir) != 0) {
    forget(w);
    snprintf(w->dir, sizeof w->dir, "%s", dir);
  }
  if (w->buffer == NULL) w->buffer = zp_trace_grow(&w->failure, NULL, 0, BUFFER, 1);
  if (w->host[0] == 0) zp_trace_host(w->host);
  if (w->named == NULL) w->named = zp_trace_grow(&w->failure, NULL, 0, ZP_TRACE_WORLD, 1);
  const int32_t named = zp_trace_named(dir, w->named);
  if (named < 0 && errno == ENOENT) return 0;
  if (named < 0) return zp_fail(err, ZP_E_REFUSED, -1, "%s: %s.", dir, strerror(errno));
  grow(w, named);
  for (int32_t r = 0; r < w->world; r++) {
    if (w->named[r]) look_at(w, r);
    grow(w, w->rank[r].reader.world); /* ranks without a file */
  }
  sum(w);
  return 0;
}
