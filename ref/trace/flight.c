/* A folder of Flight Recorder dumps: files of one prefix that end in the rank, like
 * "nccl_trace_rank_3", perhaps before .json, .pickle or .pkl. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"

enum { PATH = 4096, PREFIX = 256 };

/* Returns the rank in a file name and the length of what precedes it, or -1; -2 if too large. */
static int64_t rank_of(const char *name, size_t *prefix)
{
  static const char *const endings[] = {".json", ".pickle", ".pkl"};
  size_t end = strlen(name), at;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    const size_t n = strlen(endings[i]);
    if (end > n && strcmp(name + end - n, endings[i]) == 0) {
      end -= n;
      break;
    }
  }
  for (at = end; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';) at--;
  *prefix = at;
  if (at == end || name[0] == '.') return -1;
  if (end - at > 9) return -2;
  const long rank = strtol(name + at, NULL, 10);
  return rank < ZP_TRACE_WORLD ? rank : -2;
}

static void grow_world(zp_flight *f, int32_t world)
{
  if (world > f->world_cap) {
    int32_t cap = f->world_cap ? f->world_cap : 8;
    while (cap < world) cap *= 2;
    f->dump =
        zp_trace_grow(f->failure, f->dump, (size_t)f->world_cap, (size_t)cap, sizeof *f->dump);
    f->world_cap = cap;
  }
  if (world > f->world) f->world = world;
}

static void read_dump(zp_flight *f, const char *path, int32_t rank)
{
  grow_world(f, rank + 1);
  if (f->dump[rank].present)
    zp_trace_fail(f->failure, ZP_E_REFUSED,
                  "%s: rank %d has two dumps in the folder: move one of them away.", path,
                  (int)rank);
  zp_flight_read(&f->file, f->failure, path);
  zp_flight_extract(&f->dump[rank], &f->file);
  zp_flight_free(&f->file);
  for (int32_t i = 0; i < f->dump[rank].groups; i++) {
    const zp_flight_group *g = &f->dump[rank].group[i];
    for (int32_t k = 0; k < g->members; k++) grow_world(f, g->member[k] + 1);
  }
}

/* Reads the dumps that a folder has. */
static void read_folder(zp_flight *f, DIR *d, const char *dir)
{
  char path[PATH], first[PREFIX] = "";
  int found = 0;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    size_t n;
    const int64_t rank = rank_of(e->d_name, &n);
    if (rank == -1 || snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= PATH) continue;
    if (zp_flight_like(path) != 1) continue;
    if (rank < 0)
      zp_trace_fail(f->failure, ZP_E_REFUSED,
                    "%s: the rank in the file name is too large (a run has at most 131072 ranks).",
                    path);
    if (found && (strlen(first) != n || memcmp(first, e->d_name, n) != 0))
      zp_trace_fail(
          f->failure, ZP_E_REFUSED,
          "%s: the folder has dumps with different prefixes (%s, %.*s): move one run to a "
          "folder of its own.",
          dir, first, (int)n, e->d_name);
    snprintf(first, sizeof first, "%.*s", (int)n, e->d_name);
    found = 1;
    read_dump(f, path, (int32_t)rank);
  }
}

void zp_flight_load(zp_flight *f, zp_trace_failure *failure, const char *dir, uint8_t *has)
{
  *f = (zp_flight){.failure = failure};
  f->folder = opendir(dir);
  if (f->folder == NULL) return;
  read_folder(f, f->folder, dir);
  closedir(f->folder);
  f->folder = NULL;
  if (f->world == 0) return;
  f->image = zp_trace_grow(failure, NULL, 0, (size_t)f->world, sizeof *f->image);
  f->size = zp_trace_grow(failure, NULL, 0, (size_t)f->world, sizeof *f->size);
  zp_flight_align(f);
  for (int32_t r = 0; r < f->world; r++) {
    if (!f->dump[r].present) continue;
    zp_flight_encode(f, r);
    has[r] = 1;
  }
}

void zp_flight_close(zp_flight *f)
{
  for (int32_t r = 0; r < f->world; r++) {
    zp_flight_dump_free(&f->dump[r]);
    if (f->image != NULL) free(f->image[r]);
  }
  for (int32_t i = 0; i < f->groups; i++) free(f->group[i].member);
  for (int32_t i = 0; i < f->notes; i++) {
    free(f->note[i].text);
    free(f->note[i].rank);
  }
  if (f->folder != NULL) closedir(f->folder);
  zp_flight_free(&f->file);
  free(f->dump);
  free(f->image);
  free(f->size);
  free(f->group);
  free(f->table);
  free(f->names);
  free(f->own);
  free(f->note);
  free(f->out);
  *f = (zp_flight){.world = 0};
}
