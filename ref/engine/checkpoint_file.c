/* Files and bytes of checkpoints. spec: CKPT-2, CKPT-4 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "checkpoint_format.h"

int zp_ckpt_path(char path[ZP_CKPT_PATH], const char *dir, const char *name, zp_error *err)
{
  if (snprintf(path, ZP_CKPT_PATH, "%s/%s", dir, name) < ZP_CKPT_PATH) return 0;
  return zp_fail(err, ZP_E_REFUSED, -1, "the checkpoint's path is longer than %d bytes: %.200s…",
                 ZP_CKPT_PATH, dir);
}

int zp_ckpt_errno(zp_error *err, const char *what, const char *dir, const char *name)
{
  const int e = errno;
  return zp_fail(err, ZP_E_FILE, -1, "cannot %s %s%s%s: %s%s", what, dir, name[0] ? "/" : "", name,
                 strerror(e), e == ELOOP ? "; links in a checkpoint are not followed" : "");
}

/* ---- Folders --------------------------------------------------------------------------------- */

int zp_ckpt_dir_open(zp_ckpt_dir *d, const char *path, zp_error *err)
{
  d->fd = -1;
  if (snprintf(d->path, ZP_CKPT_PATH, "%s", path) >= ZP_CKPT_PATH)
    return zp_ckpt_path(d->path, path, "", err);
  d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return d->fd < 0 ? zp_ckpt_errno(err, "open the folder", path, "") : 0;
}

int zp_ckpt_dir_open_in(zp_ckpt_dir *d, const zp_ckpt_dir *parent, const char *name, zp_error *err)
{
  struct stat s;
  d->fd = -1;
  if (zp_ckpt_path(d->path, parent->path, name, err)) return err->status;
  d->fd = openat(parent->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (d->fd >= 0) return 0;
  if (fstatat(parent->fd, name, &s, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(s.st_mode)) errno = ELOOP; /* Linux reports ENOTDIR */
    else if (!S_ISDIR(s.st_mode)) errno = ENOTDIR;
  }
  return zp_ckpt_errno(err, "open the folder", d->path, "");
}

void zp_ckpt_dir_close(zp_ckpt_dir *d)
{
  if (d->fd >= 0) close(d->fd);
  d->fd = -1;
}

zp_ckpt_folder zp_ckpt_dir_folder(const zp_ckpt_dir *d)
{
  struct stat s;
  if (fstat(d->fd, &s)) return (zp_ckpt_folder){0};
  return (zp_ckpt_folder){.device = s.st_dev, .inode = s.st_ino};
}

int zp_ckpt_dir_is(const zp_ckpt_dir *d, const zp_ckpt_folder *folder)
{
  const zp_ckpt_folder mine = zp_ckpt_dir_folder(d);
  return folder->inode != 0 && mine.device == folder->device && mine.inode == folder->inode;
}

int zp_ckpt_sync_dir(const zp_ckpt_dir *d, zp_error *err)
{
  if (fsync(d->fd) == 0 || errno == EINVAL) return 0; /* some file systems cannot, and need not */
  return zp_ckpt_errno(err, "sync the folder", d->path, "");
}

/* The entry of a new folder is on disk only after its parent was synced. CKPT-2 */
static int sync_parent(const zp_ckpt_dir *d, zp_error *err)
{
  zp_ckpt_dir parent;
  int status;
  char *copy = strdup(d->path);
  if (!copy) return zp_fail(err, ZP_E_MEMORY, -1, "no memory to save a checkpoint");
  status = zp_ckpt_dir_open(&parent, dirname(copy), err);
  if (!status) status = zp_ckpt_sync_dir(&parent, err);
  zp_ckpt_dir_close(&parent);
  free(copy);
  return status;
}

int zp_ckpt_dir_make(zp_ckpt_dir *d, const char *path, zp_error *err)
{
  const int made = mkdir(path, 0777) == 0;
  d->fd = -1;
  if (!made && errno != EEXIST) return zp_ckpt_errno(err, "make the folder", path, "");
  if (zp_ckpt_dir_open(d, path, err)) return err->status;
  if (made && sync_parent(d, err)) zp_ckpt_dir_close(d);
  return err->status;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Writes all n bytes. */
static int write_all(int fd, const char *at, size_t n)
{
  while (n > 0) {
    const ssize_t k = write(fd, at, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return -1;
    at += k;
    n -= (size_t)k;
  }
  return 0;
}

/* What an interrupted save left is removed, never truncated: the file may have another name, of a
 * file that is no checkpoint's. What is no regular file stays. spec: CKPT-4 */
static int make_way(const zp_ckpt_dir *d, const char *name, zp_error *err)
{
  struct stat s;
  if (fstatat(d->fd, name, &s, AT_SYMLINK_NOFOLLOW)) {
    if (errno == ENOENT) return 0;
  } else if (S_ISLNK(s.st_mode)) errno = ELOOP;
  else if (S_ISDIR(s.st_mode)) errno = EISDIR;
  else if (!S_ISREG(s.st_mode)) errno = EEXIST;
  else if (unlinkat(d->fd, name, 0) == 0 || errno == ENOENT) return 0;
  return zp_ckpt_errno(err, "create", d->path, name);
}

int zp_ckpt_create(const zp_ckpt_dir *d, const char *name, zp_error *err)
{
  int fd = -1;
  if (make_way(d, name, err)) return -1;
  fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) zp_ckpt_errno(err, "create", d->path, name);
  return fd;
}

int zp_ckpt_write_file(const zp_ckpt_dir *d, const char *name, const char *text, size_t n,
                       zp_error *err)
{
  const int fd = zp_ckpt_create(d, name, err);
  int bad;
  if (fd < 0) return err->status;
  bad = write_all(fd, text, n) || fsync(fd);
  if (bad) zp_ckpt_errno(err, "write", d->path, name);
  if (close(fd) && !bad) return zp_ckpt_errno(err, "write", d->path, name);
  return bad ? ZP_E_FILE : 0;
}

int zp_ckpt_open_regular(const zp_ckpt_dir *d, const char *name, int64_t *bytes, zp_error *err)
{
  struct stat s;
  const int fd = openat(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    zp_ckpt_errno(err, "open", d->path, name);
    return -1;
  }
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
    *bytes = s.st_size;
    return fd;
  }
  zp_fail(err, ZP_E_FILE, -1,
          "%s/%s is not a regular file; restore it from a copy of the checkpoint", d->path, name);
  close(fd);
  return -1;
}

static int64_t read_some(int fd, char *to, int64_t n)
{
  int64_t got = 0;
  while (got < n) {
    const ssize_t k = read(fd, to + got, (size_t)(n - got));
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    if (k == 0) break;
    got += k;
  }
  return got;
}

char *zp_ckpt_read_file(const zp_ckpt_dir *d, const char *name, int64_t max, int64_t *n,
                        zp_error *err)
{
  int64_t bytes = 0;
  const int fd = zp_ckpt_open_regular(d, name, &bytes, err);
  char *text = NULL;
  if (fd < 0) return NULL;
  if (bytes > max)
    zp_fail(err, ZP_E_FILE, -1, "%s/%s is %lld bytes long, which no file of a checkpoint is",
            d->path, name, (long long)bytes);
  else if (!(text = malloc((size_t)bytes + 1)))
    zp_fail(err, ZP_E_MEMORY, -1, "no memory to read %s/%s", d->path, name);
  else if (read_some(fd, text, bytes) != bytes) {
    zp_ckpt_errno(err, "read", d->path, name);
    free(text);
    text = NULL;
  }
  close(fd);
  if (!text) return NULL;
  text[bytes] = 0;
  *n = bytes;
  return text;
}

void zp_ckpt_hex(uint64_t high, uint64_t low, char hex[ZP_CKPT_HEX])
{
  snprintf(hex, ZP_CKPT_HEX, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}

void zp_ckpt_hash(const void *data, size_t n, char hex[ZP_CKPT_HEX])
{
  const XXH128_hash_t h = XXH3_128bits(data, n);
  zp_ckpt_hex(h.high64, h.low64, hex);
}

int zp_ckpt_hash_file(const zp_ckpt_dir *d, const char *name, int fd, int64_t there, int64_t bytes,
                      char hex[ZP_CKPT_HEX], zp_error *err)
{
  enum { BLOCK = 1 << 18 };
  int64_t left;
  char *block = malloc(BLOCK);
  XXH3_state_t *state = XXH3_createState();
  int status = 0;
  if (!block || !state)
    status = zp_fail(err, ZP_E_MEMORY, -1, "no memory to read %s/%s", d->path, name);
  if (!status && there != bytes)
    status =
        zp_fail(err, ZP_E_FILE, -1,
                "%s/%s is %lld bytes long instead of %lld: it is %s; restore it from a copy or "
                "load another checkpoint (CKPT-4)",
                d->path, name, (long long)there, (long long)bytes,
                there < bytes ? "truncated" : "not the file that was saved");
  if (!status) XXH3_128bits_reset(state);
  for (left = bytes; !status && left > 0;) {
    const int64_t n = read_some(fd, block, left < BLOCK ? left : BLOCK);
    if (n <= 0) status = zp_ckpt_errno(err, "read", d->path, name);
    else XXH3_128bits_update(state, block, (size_t)n);
    left -= n;
  }
  if (!status) {
    const XXH128_hash_t h = XXH3_128bits_digest(state);
    zp_ckpt_hex(h.high64, h.low64, hex);
  }
  free(block);
  XXH3_freeState(state);
  return status;
}

uint64_t zp_ckpt_word(void)
{
  struct timespec now = {0};
  uint64_t word = 0;
  if (getrandom(&word, sizeof word, 0) == (ssize_t)sizeof word) return word;
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t seed[3] = {now.tv_sec, now.tv_nsec, getpid()};
  return XXH3_64bits(seed, sizeof seed);
}

void zp_ckpt_put_le(unsigned char *to, uint64_t x, int bytes)
{
  for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(x >> (8 * i));
}

uint64_t zp_ckpt_get_le(const unsigned char *from, int bytes)
{
  uint64_t x = 0;
  for (int i = 0; i < bytes; i++) x |= (uint64_t)from[i] << (8 * i);
  return x;
}

void zp_ckpt_swap_f32(void *to, const void *from, int64_t n)
{
  const uint32_t one = 1;
  if (*(const unsigned char *)&one == 1) { /* this machine is little-endian itself */
    if (n > 0 && to != from) memcpy(to, from, (size_t)n * 4);
    return;
  }
  unsigned char *t = to;
  const unsigned char *f = from;
  for (int64_t i = 0; i < n; i++) {
    const unsigned char b[4] = {f[4 * i], f[4 * i + 1], f[4 * i + 2], f[4 * i + 3]};
    for (int k = 0; k < 4; k++) t[4 * i + k] = b[3 - k];
  }
}

int zp_ckpt_numbered(const char *text, const char *prefix, const char *suffix)
{
  const size_t n = strlen(prefix);
  if (strncmp(text, prefix, n) != 0) return 0;
  const size_t digits = strspn(text + n, "0123456789");
  return digits > 0 && digits < 20 && strcmp(text + n + digits, suffix) == 0;
}
