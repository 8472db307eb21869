#define _GNU_SOURCE
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "PATH: reason" */
static int fail(zp_error *err, const char *path, int reason)
{
  return zp_fail(err, ZP_E_FILE, -1, "%s: %s", path, strerror(reason));
}

/* Frees and closes; returns status. */
static int release(zp_output *o, int status)
{
  if (o->f) fclose(o->f);
  free(o->path);
  free(o->temporary);
  *o = (zp_output){NULL, NULL, NULL};
  return status;
}

/* The mode of a new file, which mkstemp makes private: the old file's, or what umask leaves. */
static mode_t mode_of(const struct stat *old)
{
  if (old) return old->st_mode & 0777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/* Opens a file in the folder of the path, with a short name of its own: the path's may have all the
 * bytes that a name can have. old: the file that it will replace, or NULL. Returns errno. */
static int open_beside(zp_output *o, const struct stat *old)
{
  const char *slash = strrchr(o->path, '/');
  const int folder = slash ? (int)(slash - o->path) + 1 : 0;
  if (asprintf(&o->temporary, "%.*s.zp-XXXXXX", folder, o->path) < 0) {
    o->temporary = NULL;
    return ENOMEM;
  }
  const int fd = mkostemp(o->temporary, O_CLOEXEC);
  if (fd < 0) return errno;
  int reason = fchmod(fd, mode_of(old)) ? errno : 0;
  if (!reason && !(o->f = fdopen(fd, "wb"))) reason = errno;
  if (!reason) return 0;
  close(fd);
  unlink(o->temporary);
  return reason;
}

int zp_output_open(zp_output *o, const char *path, zp_error *err)
{
  struct stat old;
  const int there = stat(path, &old) == 0;
  int reason = 0;
  *o = (zp_output){NULL, there ? realpath(path, NULL) : strdup(path), NULL};
  if (!o->path) reason = errno;
  else if (!there) reason = errno == ENOENT ? open_beside(o, NULL) : errno;
  else if (S_ISREG(old.st_mode)) reason = access(path, W_OK) ? errno : open_beside(o, &old);
  else if (!(o->f = fopen(path, "wbe"))) reason = errno; /* a device, a pipe */
  if (!reason) return 0;
  fail(err, path, reason);
  return release(o, err->status);
}

/* The rename itself must survive a crash. Not all file systems can sync a folder. */
static int sync_folder(const char *path)
{
  char *copy = strdup(path);
  const int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  int reason = fd >= 0 && fsync(fd) && errno != EINVAL ? errno : 0;
  if (!copy) reason = ENOMEM;
  if (fd >= 0) close(fd); /* a folder without permission to read is left to the system */
  free(copy);
  return reason;
}

int zp_output_close(zp_output *o, int status, zp_error *err)
{
  int reason = 0;
  if (fflush(o->f)) reason = errno;
  else if (ferror(o->f)) /* an earlier write failed: another one, of one byte, has its reason */
    reason = write(fileno(o->f), "", 1) < 0 ? errno : EIO;
  else if (fsync(fileno(o->f)) && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
    reason = errno; /* EINVAL, EROFS, ENOTSUP: a device or a pipe, which has no disk */
  if (fclose(o->f) && !reason) reason = errno;
  o->f = NULL;
  if (!status && !reason && o->temporary) {
    reason = rename(o->temporary, o->path) ? errno : sync_folder(o->path);
    if (!reason) return release(o, 0);
  }
  if (o->temporary) unlink(o->temporary);
  if (!status && reason) status = fail(err, o->path, reason);
  return release(o, status);
}

int zp_output_probe(const char *path, zp_error *err)
{
  zp_output o;
  const int status = zp_output_open(&o, path, err);
  return status ? status : zp_output_close(&o, ZP_E_REFUSED, err) == ZP_E_REFUSED ? 0 : err->status;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Files of checkpoints and of traces, by name; others in their folders may be outputs. */
static int is_part(const char *name)
{
  return strncmp(name, "rank-", 5) == 0 || strcmp(name, "manifest.json") == 0 ||
         strcmp(name, "LATEST") == 0 || strcmp(name, "LOCK") == 0 || strcmp(name, "LOCK.job") == 0;
}

/* 1 if the file `out` is in an input folder or one folder below it, as a part of its contents. */
static int is_in_folder(const struct stat *out, const char *folder)
{
  char *copy = strdup(folder);
  char *const roots[] = {copy, NULL};
  FTS *walk = copy ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL) : NULL;
  int found = 0;
  for (FTSENT *e; walk && !found && (e = fts_read(walk)) != NULL;) {
    if (e->fts_level >= 2 && e->fts_info == FTS_D) fts_set(walk, e, FTS_SKIP);
    found = e->fts_info == FTS_F && is_part(e->fts_name) && e->fts_statp->st_dev == out->st_dev &&
            e->fts_statp->st_ino == out->st_ino;
  }
  if (walk) fts_close(walk);
  free(copy);
  return found;
}

int zp_output_spares(const char *option, const char *path, const char *const *inputs, zp_error *err)
{
  struct stat out, in;
  if (!path || stat(path, &out) || !S_ISREG(out.st_mode)) return 0;
  for (; *inputs; inputs++) {
    if (stat(*inputs, &in)) continue;
    if (S_ISDIR(in.st_mode) ? is_in_folder(&out, *inputs)
                            : in.st_dev == out.st_dev && in.st_ino == out.st_ino)
      return zp_fail(err, ZP_E_REFUSED, -1,
                     "%s %s: would overwrite the input %s; name another file", option, path,
                     *inputs);
  }
  return 0;
}

/* ---- Other outputs --------------------------------------------------------------------------- */

/* The name that the output replaces, with links resolved; the caller frees it. NULL: no file can
 * have this name, or no memory. */
static char *resolved(const char *path)
{
  char *whole = realpath(path, NULL), *folder, *name, *at;
  if (whole || errno != ENOENT) return whole;
  folder = strdup(path);
  name = strdup(path);
  at = folder ? realpath(dirname(folder), NULL) : NULL;
  if (!at || !name || asprintf(&whole, "%s/%s", at, basename(name)) < 0) whole = NULL;
  free(folder);
  free(name);
  free(at);
  return whole;
}

/* Devices and pipes take any number of outputs. */
static int is_device(const char *path)
{
  struct stat s;
  return stat(path, &s) == 0 && !S_ISREG(s.st_mode);
}

int zp_output_distinct(const char *option, const char *path, const char *other_option,
                       const char *other, zp_error *err)
{
  if (!path || !other || is_device(path) || is_device(other)) return 0;
  char *one = resolved(path), *two = resolved(other);
  const int same = one && two && strcmp(one, two) == 0;
  free(one);
  free(two);
  return !same ? 0
               : zp_fail(err, ZP_E_REFUSED, -1,
                         "%s %s and %s %s are one file; give each output its own", option, path,
                         other_option, other);
}

int zp_output_spares_folder(const char *option, const char *path, const char *folder, zp_error *err)
{
  if (!path || !folder) return 0;
  char *out = resolved(path), *in = realpath(folder, NULL);
  const size_t n = in ? strlen(in) : 0;
  const char *rest = out && in && strncmp(out, in, n) == 0 && out[n] == '/' ? out + n + 1 : NULL;
  const int taken =
      rest && (is_part(rest) || strncmp(rest, "step-", 5) == 0 || strncmp(rest, "LATEST", 6) == 0);
  free(out);
  free(in);
  return !taken ? 0
                : zp_fail(err, ZP_E_REFUSED, -1,
                          "%s %s: checkpoints in %s use this name; name another file", option, path,
                          folder);
}

int zp_output_bytes(const char *path, const char *text, size_t n, zp_error *err)
{
  zp_output o;
  const int status = zp_output_open(&o, path, err);
  if (status) return status;
  fwrite(text, 1, n, o.f); /* close reports a failure */
  return zp_output_close(&o, 0, err);
}
