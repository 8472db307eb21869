#define _GNU_SOURCE
#include "memory_free.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH = 4096 };
static const double unknown = 1e300;

static void lower(zp_memory_free *m, double bytes, const char *what)
{
  if (bytes < 0) bytes = 0;
  if (bytes >= m->bytes) return;
  m->bytes = bytes;
  m->what = what;
}

/* The number after `key` at the start of a line of a file (key "": its first word); -1: none. */
static double number_in(const char *file, const char *key)
{
  char line[PATH];
  double value = -1;
  FILE *f = fopen(file, "r");
  if (f == NULL) return -1;
  while (fgets(line, sizeof line, f) != NULL) {
    char *end, *from = line + strlen(key);
    if (strncmp(line, key, strlen(key)) != 0) continue;
    const double number = strtod(from, &end);
    if (end != from && number >= 0) value = number; /* otherwise "max" */
    break;
  }
  fclose(f);
  return value;
}

static double file_number(const char *folder, const char *name, const char *key)
{
  char file[PATH];
  return snprintf(file, sizeof file, "%s/%s", folder, name) < PATH ? number_in(file, key) : -1;
}

/* A group and all above it, up to the folder `top`. Pages of files can be dropped: free. */
static void lower_by_groups(zp_memory_free *m, const char *top, const char *group, const char *max,
                            const char *used, const char *file_pages)
{
  char folder[PATH];
  if (snprintf(folder, sizeof folder, "%s%s", top, group) >= PATH) return;
  while (strlen(folder) >= strlen(top)) {
    const double limit = file_number(folder, max, ""), now = file_number(folder, used, "");
    const double pages = file_number(folder, "memory.stat", file_pages);
    /* without a limit, version 1 has a number close to 2^63 */
    if (limit >= 0 && limit < 0x1p60 && now >= 0)
      lower(m, limit - now + (pages > 0 ? pages : 0), "the control group allows");
    char *slash = strrchr(folder, '/');
    if (slash == NULL) return;
    *slash = 0;
  }
}

static void lower_by_cgroups(zp_memory_free *m, const char *root)
{
  char file[PATH], line[PATH], top[PATH];
  snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
  FILE *f = fopen(file, "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    char *kinds = strchr(line, ':'), *group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
    if (group == NULL) continue;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (strcmp(group, "/") == 0) group = "";
    if (kinds[1] == 0) {
      snprintf(top, sizeof top, "%s/sys/fs/cgroup", root);
      lower_by_groups(m, top, group, "memory.max", "memory.current", "inactive_file ");
    } else if (strstr(kinds + 1, "memory") != NULL) {
      snprintf(top, sizeof top, "%s/sys/fs/cgroup/memory", root);
      lower_by_groups(m, top, group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                      "total_inactive_file ");
    }
  }
  if (f != NULL) fclose(f);
}

zp_memory_free zp_memory_free_now(const char *root)
{
  zp_memory_free m = {unknown, "the machine has"};
  char file[PATH];
  struct rlimit space;
  snprintf(file, sizeof file, "%s/proc/meminfo", root);
  const double kib = number_in(file, "MemAvailable:");
  snprintf(file, sizeof file, "%s/proc/self/statm", root);
  const double pages = number_in(file, "");
  if (kib >= 0) lower(&m, 1024 * kib, "the machine has");
  lower_by_cgroups(&m, root);
  if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && pages >= 0)
    lower(&m, (double)space.rlim_cur - pages * (double)sysconf(_SC_PAGESIZE), "ulimit -v allows");
  return m;
}
