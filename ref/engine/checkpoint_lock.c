/* DIR/LOCK: one record per rank, locked while the rank saves. DIR/LOCK.job: one record, locked
 * while a job runs that will save. A record names the holder for the error of another process. A
 * lock ends with its process, so a crash leaves none. The locks are those of byte ranges (fcntl),
 * which NFS servers know as well: NFSv4 itself, NFSv3 through lockd. spec: CKPT-7 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_format.h"

enum { RECORD = 128 };

/* One record of a file of locks. */
typedef struct record {
  const zp_ckpt_dir *dir;
  const char *name; /* of the file */
  int32_t rank;     /* -1: the job's */
  off_t at;
} record;

/* "rank R, host H, pid P", filled up with spaces to a line: the file can be read as a text. */
static void describe(char text[RECORD + 1], int32_t rank)
{
  char host[65] = "?", who[24] = "job";
  char words[RECORD];
  if (gethostname(host, sizeof host - 1)) snprintf(host, sizeof host, "?");
  if (rank >= 0) snprintf(who, sizeof who, "rank %d", (int)rank);
  snprintf(words, sizeof words, "%s, host %s, pid %lld", who, host, (long long)getpid());
  snprintf(text, RECORD + 1, "%-*s\n", RECORD - 1, words);
}

static int fail_held(int fd, const record *r, zp_error *err)
{
  char holder[RECORD + 1] = "";
  ssize_t n = pread(fd, holder, RECORD, r->at);
  if (n < 0) n = 0;
  while (n > 0 && (holder[n - 1] == ' ' || holder[n - 1] == '\n')) n--;
  holder[n] = 0;
  for (char *c = holder; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?'; /* the file may be anyone's */
  return zp_fail(err, ZP_E_FILE, r->rank,
                 "another process is saving to %s: it holds %s/%s (%s); nothing was written; "
                 "save to another folder, or wait until that process ends (CKPT-7)",
                 r->dir->path, r->dir->path, r->name, holder[0] ? holder : "holder unknown");
}

static int fail_lock(const record *r, zp_error *err)
{
  const int e = errno;
  return zp_fail(err, ZP_E_FILE, r->rank,
                 "cannot lock %s/%s: %s; the file system of a checkpoint must support fcntl "
                 "locks: NFSv3 needs rpc.statd and no option nolock, Lustre the option flock "
                 "(CKPT-7)",
                 r->dir->path, r->name, strerror(e));
}

static int lock_record(const record *r, zp_error *err)
{
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = r->at, .l_len = RECORD};
  char text[RECORD + 1];
  struct stat s;
  const int fd =
      openat(r->dir->fd, r->name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) {
    zp_ckpt_errno(err, "open", r->dir->path, r->name);
    return -1;
  }
  describe(text, r->rank);
  if (fstat(fd, &s) || !S_ISREG(s.st_mode))
    zp_fail(err, ZP_E_FILE, r->rank, "%s/%s is not a regular file; remove it", r->dir->path,
            r->name);
  else if (s.st_nlink > 1)
    zp_fail(err, ZP_E_FILE, r->rank,
            "%s/%s is a hard link: the same file has %llu names, and locking it would write to "
            "what another name may mean; remove %s/%s (CKPT-4)",
            r->dir->path, r->name, (unsigned long long)s.st_nlink, r->dir->path, r->name);
  else if (fcntl(fd, F_OFD_SETLK, &range)) {
    if (errno == EAGAIN || errno == EACCES) fail_held(fd, r, err);
    else fail_lock(r, err);
  } else if (pwrite(fd, text, RECORD, r->at) != RECORD)
    zp_ckpt_errno(err, "write", r->dir->path, r->name);
  else return fd;
  close(fd);
  return -1;
}

int zp_ckpt_lock(const zp_ckpt_dir *dir, int32_t rank, zp_error *err)
{
  return lock_record(&(record){dir, "LOCK", rank, (off_t)rank * RECORD}, err);
}

/* Does a process hold a record of the file? */
static int check_file(const zp_ckpt_dir *dir, const char *name, zp_error *err)
{
  struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* to the end */
  record r = {dir, name, -1, 0};
  const int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  int status = 0;
  if (fd < 0 && errno == ENOENT) return 0;
  if (fd < 0) return zp_ckpt_errno(err, "open", dir->path, name);
  if (fcntl(fd, F_OFD_GETLK, &range) != 0) status = fail_lock(&r, err);
  else if (range.l_type != F_UNLCK) {
    r.at = range.l_start;
    status = fail_held(fd, &r, err);
  }
  close(fd);
  return status;
}

int zp_ckpt_unlocked(const char *path, zp_error *err)
{
  zp_ckpt_dir dir;
  if (faccessat(AT_FDCWD, path, F_OK, 0) != 0 && errno == ENOENT) return 0;
  int status = zp_ckpt_dir_open(&dir, path, err);
  if (status != 0) return status;
  status = check_file(&dir, "LOCK.job", err);
  if (status == 0) status = check_file(&dir, "LOCK", err);
  zp_ckpt_dir_close(&dir);
  return status;
}

int zp_ckpt_lock_job(const char *path, zp_error *err)
{
  zp_ckpt_dir dir;
  int fd = -1;
  if (zp_ckpt_dir_make(&dir, path, err)) return -1;
  /* the file of locks may be older than the folder's permissions */
  if (faccessat(dir.fd, ".", W_OK | X_OK, AT_EACCESS)) zp_ckpt_errno(err, "write to", path, "");
  else fd = lock_record(&(record){&dir, "LOCK.job", -1, 0}, err);
  zp_ckpt_dir_close(&dir);
  return fd;
}
