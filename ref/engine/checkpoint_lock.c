/* DIR/LOCK: one record per rank, locked while the rank saves. The record names the holder for the
 * error of another process. A lock ends with its process, so a crash leaves none. The locks are
 * those of byte ranges (fcntl), which NFS servers know as well: NFSv4 itself, NFSv3 through lockd.
 * spec: CKPT-7 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_format.h"

enum { RECORD = 128 };

/* "rank R, host H, pid P", filled up with spaces to a line: LOCK can be read as a text. */
static void describe(char text[RECORD + 1], int32_t rank)
{
  char host[65] = "?";
  char words[RECORD];
  if (gethostname(host, sizeof host - 1)) snprintf(host, sizeof host, "?");
  snprintf(words, sizeof words, "rank %d, host %s, pid %lld", (int)rank, host, (long long)getpid());
  snprintf(text, RECORD + 1, "%-*s\n", RECORD - 1, words);
}

static int fail_held(int fd, const zp_ckpt_dir *dir, int32_t rank, zp_error *err)
{
  char holder[RECORD + 1] = "";
  ssize_t n = pread(fd, holder, RECORD, (off_t)rank * RECORD);
  if (n < 0) n = 0;
  while (n > 0 && (holder[n - 1] == ' ' || holder[n - 1] == '\n')) n--;
  holder[n] = 0;
  for (char *c = holder; *c; c++)
    if (*c < ' ' || *c > '~') *c = '?'; /* the file may be anyone's */
  return zp_fail(err, ZP_E_FILE, rank,
                 "another process is saving to %s: it holds %s/LOCK (%s); nothing was written; "
                 "save to another folder, or wait until that process ends (CKPT-7)",
                 dir->path, dir->path, holder[0] ? holder : "holder unknown");
}

static int fail_lock(const zp_ckpt_dir *dir, int32_t rank, zp_error *err)
{
  const int e = errno;
  return zp_fail(err, ZP_E_FILE, rank,
                 "cannot lock %s/LOCK: %s; the file system of a checkpoint must support fcntl "
                 "locks: NFSv3 needs rpc.statd and no option nolock, Lustre the option flock "
                 "(CKPT-7)",
                 dir->path, strerror(e));
}

int zp_ckpt_lock(const zp_ckpt_dir *dir, int32_t rank, zp_error *err)
{
  struct flock range = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)rank * RECORD, .l_len = RECORD};
  char text[RECORD + 1];
  struct stat s;
  const int fd =
      openat(dir->fd, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (fd < 0) {
    zp_ckpt_errno(err, "open", dir->path, "LOCK");
    return -1;
  }
  describe(text, rank);
  if (fstat(fd, &s) || !S_ISREG(s.st_mode))
    zp_fail(err, ZP_E_FILE, rank, "%s/LOCK is not a regular file; remove it", dir->path);
  else if (fcntl(fd, F_OFD_SETLK, &range)) {
    if (errno == EAGAIN || errno == EACCES) fail_held(fd, dir, rank, err);
    else fail_lock(dir, rank, err);
  } else if (pwrite(fd, text, RECORD, range.l_start) != RECORD)
    zp_ckpt_errno(err, "write", dir->path, "LOCK");
  else return fd;
  close(fd);
  return -1;
}
