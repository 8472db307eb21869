/* Laws of ref/engine/checkpoint.h about several jobs, links and the disk: a checkpoint that a job
 * reports as saved loads, whatever others do in its folder. spec: CKPT-2, CKPT-4, CKPT-7, CKPT-9 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "checkpoint_case.h"

TestSuite(checkpoint_writers, .init = make_temp, .fini = remove_temp);

static const char *in_dir(const char *name)
{
  static char path[4][PATH_MAX];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], PATH_MAX, "%s/%s", dir, name);
  return path[turn];
}

static int is_there(const char *name)
{
  return faccessat(AT_FDCWD, in_dir(name), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void touch(const char *path)
{
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  cr_assert(fd >= 0 && write(fd, "kept\n", 5) == 5);
  close(fd);
}

/* ---- One job at a time. CKPT-7 --------------------------------------------------------------- */

typedef struct job {
  zp_ckpt_writer *w[WORLD];
  zp_store store[WORLD];
} job;

static int open_part(job *j, const char *where, zp_ckpt_save s, zp_error *err)
{
  s.workload = "{}";
  return zp_ckpt_writer_open(&j->w[s.rank], where, model, &s, &j->store[s.rank], err);
}

static int open_rank(job *j, int32_t r, int64_t step, zp_error *err)
{
  return open_part(j, dir, (zp_ckpt_save){.step = step, .rank = r, .word = 6}, err);
}

static void close_job(job *j)
{
  for (int32_t r = 0; r < WORLD; r++) zp_ckpt_writer_close(j->w[r]);
  memset(j, 0, sizeof *j);
}

static void finish_parts(job *j, int64_t step)
{
  zp_optim_state optim[2];
  const zp_train_state state = state_of(step, optim);
  zp_error err = {0};
  for (int32_t r = 0; r < WORLD; r++) {
    cr_assert_eq(put_part(&j->store[r], r, 4, step, &err), 0, "%s", err.text);
    cr_assert_eq(j->store[r].finish(j->store[r].ctx, &state, &err), 0, "%s", err.text);
  }
}

static void finish_job(job *j, int64_t step)
{
  zp_error err = {0};
  finish_parts(j, step);
  cr_assert_eq(j->store[0].commit(j->store[0].ctx, &err), 0, "%s", err.text);
}

Test(checkpoint_writers, a_second_job_is_refused_by_host_and_process)
{
  char host[65] = "", pid[32];
  job first = {0}, second = {0};
  zp_error err = {0};
  gethostname(host, sizeof host - 1);
  snprintf(pid, sizeof pid, "pid %lld)", (long long)getpid());
  for (int32_t r = 0; r < WORLD; r++)
    cr_assert_eq(open_rank(&first, r, 3, &err), 0, "%s", err.text);
  for (int32_t r = 0; r < WORLD; r++) {
    char rank[16];
    memset(&err, 0, sizeof err);
    snprintf(rank, sizeof rank, "(rank %d,", r);
    cr_assert_eq(open_rank(&second, r, 3, &err), ZP_E_FILE, "rank %d", r);
    cr_assert_eq(err.rank, r);
    cr_assert(strstr(err.text, host) && strstr(err.text, pid) && strstr(err.text, rank), "%s",
              err.text);
    cr_assert(strstr(err.text, "another process is saving") && strstr(err.text, dir), "%s",
              err.text);
  }
  finish_job(&first, 3);
  close_job(&first);
  check_current(3, 4);
  memset(&err, 0, sizeof err);
  for (int32_t r = 0; r < WORLD; r++)
    cr_assert_eq(open_rank(&second, r, 3, &err), 0, "%s", err.text);
  finish_job(&second, 3);
  close_job(&second);
  check_current(3, 5);
  cr_assert(is_there("step-3") && is_there("step-3.1"));
}

/* A job that lacks the lock of one rank has none of its files in the other's checkpoint. */
Test(checkpoint_writers, the_lock_of_any_rank_stops_a_job)
{
  for (int32_t held = 0; held < WORLD; held++) {
    job other = {0};
    zp_error err = {0};
    save(1, 4);
    cr_assert_eq(open_rank(&other, held, 2, &err), 0, "%s", err.text);
    cr_assert_eq(save_at(dir, 2, 4, NULL, &err), ZP_E_FILE, "rank %d", held);
    cr_assert_not_null(strstr(err.text, "another process is saving"), "%s", err.text);
    check_current(1, 4);
    close_job(&other);
    save(2, 4);
    check_current(2, 4);
  }
}

/* The lock is the kernel's: it ends with the process, and a LOCK that stayed locks nothing. */
Test(checkpoint_writers, a_killed_holder_holds_nothing)
{
  int ready[2], status;
  char byte;
  zp_error err = {0};
  cr_assert_eq(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    job j = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if this test fails */
    if (open_rank(&j, 0, 2, &err) == 0 && write(ready[1], "x", 1) == 1)
      for (;;) pause();
    _exit(1);
  }
  close(ready[1]);
  cr_assert_eq(read(ready[0], &byte, 1), 1);
  cr_assert_eq(save_at(dir, 2, 4, NULL, &err), ZP_E_FILE);
  char pid[32];
  snprintf(pid, sizeof pid, "pid %lld)", (long long)child);
  cr_assert_not_null(strstr(err.text, pid), "%s", err.text);
  cr_assert_eq(kill(child, SIGKILL), 0);
  cr_assert_eq(waitpid(child, &status, 0), child);
  save(2, 4);
  check_current(2, 4);
  close(ready[0]);
}

/* The job's lock lasts from before its first save to its end, and its own saves do not meet it. */
Test(checkpoint_writers, a_second_job_is_refused_before_it_saves)
{
  char host[65] = "", holder[128];
  zp_error err = {0};
  gethostname(host, sizeof host - 1);
  snprintf(holder, sizeof holder, "(job, host %s, pid %lld)", host, (long long)getpid());
  remove_temp();
  const int lock = zp_ckpt_lock_job(dir, &err); /* makes the folder */
  cr_assert(lock >= 0, "%s", err.text);
  for (int32_t step = 1; step < 4; step++) {
    zp_error second = {0};
    cr_assert_eq(zp_ckpt_lock_job(dir, &second), -1);
    cr_assert_eq(second.status, ZP_E_FILE);
    cr_assert(strstr(second.text, holder) && strstr(second.text, dir), "%s", second.text);
    save(step, 4);
    check_current(step, 4);
  }
  cr_assert_eq(close(lock), 0);
  const int next = zp_ckpt_lock_job(dir, &err);
  cr_assert(next >= 0, "%s", err.text);
  close(next);
  check_current(3, 4);
}

/* A supervisor starts no job beside a process that may still write. spec: CKPT-7 */
Test(checkpoint_writers, a_folder_is_unlocked_if_no_process_holds_any_of_its_locks)
{
  static const char rank[] = "rank 3, host far, pid 7\n";
  struct flock third = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 384, .l_len = 128};
  zp_error err = {0}, job = {0}, one = {0};
  remove_temp();
  cr_assert_eq(zp_ckpt_unlocked(dir, &err), 0, "%s", err.text); /* there is no folder */
  const int lock = zp_ckpt_lock_job(dir, &err);
  cr_assert_eq(zp_ckpt_unlocked(dir, &job), ZP_E_FILE);
  cr_assert(strstr(job.text, "LOCK.job (job, host "), "%s", job.text);
  cr_assert_eq(close(lock), 0);
  cr_assert_eq(zp_ckpt_unlocked(dir, &err), 0, "%s", err.text);
  save(1, 4); /* makes LOCK */
  cr_assert_eq(zp_ckpt_unlocked(dir, &err), 0, "%s", err.text);
  const int fd = open(in_dir("LOCK"), O_RDWR | O_CREAT, 0666);
  cr_assert(fd >= 0 && pwrite(fd, rank, sizeof rank - 1, 384) == (ssize_t)sizeof rank - 1);
  cr_assert_eq(fcntl(fd, F_OFD_SETLK, &third), 0);
  cr_assert_eq(zp_ckpt_unlocked(dir, &one), ZP_E_FILE);
  cr_assert(strstr(one.text, "/LOCK (rank 3, host far, pid 7"), "%s", one.text);
  cr_assert_eq(close(fd), 0);
  cr_assert_eq(zp_ckpt_unlocked(dir, &err), 0, "%s", err.text);
}

/* What is not a file of locks is refused, and nothing is written through it. CKPT-4 */
Test(checkpoint_writers, the_lock_of_a_job_is_a_regular_file)
{
  char kept[PATH_MAX];
  zp_error link = {0}, pipe = {0}, parent = {0};
  snprintf(kept, sizeof kept, "%s", in_dir("kept"));
  touch(kept);
  cr_assert_eq(symlink(kept, in_dir("LOCK.job")), 0);
  cr_assert_eq(zp_ckpt_lock_job(dir, &link), -1);
  cr_assert(strstr(link.text, "LOCK.job") && strstr(link.text, "links"), "%s", link.text);
  cr_assert_eq(unlink(in_dir("LOCK.job")), 0);
  cr_assert_eq(mkfifo(in_dir("LOCK.job"), 0666), 0);
  cr_assert_eq(zp_ckpt_lock_job(dir, &pipe), -1);
  cr_assert_not_null(strstr(pipe.text, "not a regular file"), "%s", pipe.text);
  cr_assert_eq(zp_ckpt_lock_job(in_dir("none/deeper"), &parent), -1);
  cr_assert_not_null(strstr(parent.text, "No such file"), "%s", parent.text);
  struct stat s;
  cr_assert(stat(kept, &s) == 0 && s.st_size == 5);
}

/* Whichever wins: a save that reported success loads. The jobs begin together, and how far each
 * comes before the other is left to the machine; both outcomes pass. */
Test(checkpoint_writers, pairs_of_jobs_never_report_what_does_not_load)
{
  int succeeded = 0;
  for (int pair = 0; pair < 100; pair++) {
    pid_t child[2];
    int good = 0, go[2];
    remove_temp();
    cr_assert_eq(mkdir(dir, 0777), 0);
    cr_assert_eq(pipe(go), 0);
    for (int i = 0; i < 2; i++) {
      child[i] = fork();
      if (child[i] == 0) {
        char byte;
        zp_error err = {0};
        close(go[1]);
        if (read(go[0], &byte, 1) != 0) _exit(3); /* ends when the parent closes the pipe */
        const int status = save_at(dir, 7, 3 + i, NULL, &err);
        _exit(status == 0 ? 0 : strstr(err.text, "another process is saving") ? 1 : 2);
      }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < 2; i++) {
      int status;
      cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
      cr_assert(WIFEXITED(status) && WEXITSTATUS(status) <= 1, "pair %d: %x", pair, status);
      good += WEXITSTATUS(status) == 0;
    }
    if (good > 0) check_current(7, 4);
    succeeded += good;
  }
  save(7, 4); /* and what the losers left disturbs no one */
  check_current(7, 4);
  cr_log_info("%d saves of 200 succeeded", succeeded);
}

/* ---- Parts of one save. CKPT-9 --------------------------------------------------------------- */

/* Rank 0 finds what every rank of an interrupted save wrote, of the same step and training state.
 * One rank of the next save writes to another folder. */
Test(checkpoint_writers, what_an_interrupted_save_left_is_never_part_of_the_next_one)
{
  for (int32_t away = 1; away < WORLD; away++) {
    char elsewhere[128], name[32];
    job interrupted = {0}, next = {0};
    zp_error err = {0};
    for (int32_t r = 0; r < WORLD; r++)
      cr_assert_eq(open_rank(&interrupted, r, 2, &err), 0, "%s", err.text);
    finish_parts(&interrupted, 2);
    close_job(&interrupted);
    snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", dir);
    for (int32_t r = 0; r < WORLD; r++) {
      const zp_ckpt_save s = {.step = 2, .rank = r, .word = 7};
      cr_assert_eq(open_part(&next, r == away ? elsewhere : dir, s, &err), 0, "%s", err.text);
    }
    finish_parts(&next, 2);
    cr_assert_eq(next.store[0].commit(next.store[0].ctx, &err), ZP_E_FILE);
    snprintf(name, sizeof name, "rank-%d.json was left by", away);
    cr_assert(strstr(err.text, name) && strstr(err.text, "must see one file system"), "%s",
              err.text);
    close_job(&next);
    cr_assert(!is_there("LATEST") && !is_there("step-2"));
    nftw(elsewhere, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  }
  save(2, 4);
  check_current(2, 4);
}

/* ---- What nothing refers to. CKPT-7 ---------------------------------------------------------- */

Test(checkpoint_writers, folders_that_latest_does_not_name_are_removed)
{
  char path[PATH_MAX];
  save(1, 4);
  save(2, 4);
  cr_assert_eq(rename(in_dir("step-1"), in_dir("step-40.3")), 0);
  save(3, 4); /* as if the process had ended between the renames of step-40.3 and of LATEST */
  cr_assert(!is_there("step-40.3") && is_there("step-2") && is_there("step-3"));
  check_current(3, 4);
  /* another's files stay, and so does their folder */
  cr_assert_eq(mkdir(in_dir("step-50"), 0777), 0);
  snprintf(path, sizeof path, "%s/mine.txt", in_dir("step-50"));
  touch(path);
  cr_assert_eq(mkdir(in_dir("step-x"), 0777), 0);
  save(4, 4);
  cr_assert(is_there("step-50/mine.txt") && is_there("step-x"));
}

/* What it named is not known, and may be the only checkpoint that is whole. */
Test(checkpoint_writers, a_damaged_latest_keeps_every_published_folder)
{
  save(1, 4);
  save(2, 4);
  touch(in_dir("LATEST"));
  cr_assert_eq(mkdir(in_dir("step-9.tmp"), 0777), 0);
  save(3, 4);
  cr_assert(is_there("step-1") && is_there("step-2") && !is_there("step-9.tmp"));
  check_current(3, 4);
  save(4, 4);
  cr_assert(!is_there("step-1") && !is_there("step-2") && is_there("step-3"));
  check_current(4, 4);
}

/* A copy of a checkpoint, restored without LATEST or beside one that names what is gone. */
Test(checkpoint_writers, published_folders_stay_unless_latest_named_one_that_is_there)
{
  save(1, 4);
  cr_assert_eq(unlink(in_dir("LATEST")), 0);
  save(2, 4);
  cr_assert(is_there("step-1") && is_there("step-2"));
  cr_assert_eq(rename(in_dir("step-2"), in_dir("aside")), 0); /* LATEST names it */
  save(3, 4);
  cr_assert(is_there("step-1") && is_there("step-3"));
  touch(in_dir("step-3/manifest.json"));
  save(4, 4);
  cr_assert(is_there("step-1") && is_there("step-3") && is_there("step-4"));
  save(5, 4);
  cr_assert(!is_there("step-1") && !is_there("step-3") && is_there("step-4"));
  check_current(5, 4);
}

Test(checkpoint_writers, the_checkpoint_that_a_job_loaded_is_not_removed)
{
  zp_error err = {0};
  zp_ckpt_reader *reader;
  zp_store store;
  job j = {0};
  save(1, 4);
  cr_assert_eq(zp_ckpt_reader_open(&reader, in_dir("step-1"), model, &store, &err), 0, "%s",
               err.text);
  const zp_ckpt_folder loaded = zp_ckpt_reader_folder(reader);
  zp_ckpt_reader_close(reader);
  for (int64_t step = 2; step < 6; step++) {
    for (int32_t r = 0; r < WORLD; r++) {
      const zp_ckpt_save s = {.step = step, .rank = r, .word = (uint64_t)step, .loaded = loaded};
      cr_assert_eq(open_part(&j, dir, s, &err), 0, "%s", err.text);
    }
    finish_job(&j, step);
    close_job(&j);
  }
  cr_assert(!is_there("step-2") && !is_there("step-3") && is_there("step-4"));
  cr_assert_eq(zp_ckpt_reader_open(&reader, in_dir("step-1"), model, &store, &err), 0, "%s",
               err.text);
  check_values(&store, 4, 1);
  zp_ckpt_reader_close(reader);
}

/* ---- Links. CKPT-4 --------------------------------------------------------------------------- */

/* Every file that a save makes was there under another name, which keeps what it had. */
Test(checkpoint_writers, hard_links_keep_what_they_had)
{
  static const char *const made[] = {"LATEST.tmp", "step-1.tmp/manifest.json",
                                     "step-1.tmp/rank-0.bin", "step-1.tmp/rank-2.json"};
  static const char *const locks[] = {"LOCK", "LOCK.job"};
  char kept[PATH_MAX];
  struct stat s;
  cr_assert_eq(mkdir(in_dir("step-1.tmp"), 0777), 0);
  snprintf(kept, sizeof kept, "%s", in_dir("kept"));
  touch(kept);
  for (int i = 0; i < 4; i++) cr_assert_eq(link(kept, in_dir(made[i])), 0);
  save(1, 4);
  check_current(1, 4);
  cr_assert(stat(kept, &s) == 0 && s.st_size == 5 && s.st_nlink == 1);
  for (int i = 0; i < 2; i++) {
    zp_error err = {0};
    unlink(in_dir(locks[i]));
    cr_assert_eq(link(kept, in_dir(locks[i])), 0);
    if (i == 0) cr_assert_eq(save_at(dir, 2, 4, NULL, &err), ZP_E_FILE);
    else cr_assert_eq(zp_ckpt_lock_job(dir, &err), -1);
    cr_assert(strstr(err.text, locks[i]) && strstr(err.text, "hard link"), "%s", err.text);
    cr_assert(stat(kept, &s) == 0 && s.st_size == 5);
    cr_assert_eq(unlink(in_dir(locks[i])), 0);
  }
  save(2, 4);
  check_current(2, 4);
}

/* A folder elsewhere with files that have the names of a checkpoint's. */
static void make_elsewhere(char elsewhere[128])
{
  static const char *const names[] = {"rank-0.bin", "rank-0.json", "manifest.json", "LOCK"};
  snprintf(elsewhere, 128, "%s-elsewhere", dir);
  cr_assert_eq(mkdir(elsewhere, 0777), 0);
  for (int i = 0; i < 4; i++) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", elsewhere, names[i]);
    touch(path);
  }
}

static void check_elsewhere(const char *elsewhere)
{
  static const char *const names[] = {"rank-0.bin", "rank-0.json", "manifest.json", "LOCK"};
  for (int i = 0; i < 4; i++) {
    char path[256];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s", elsewhere, names[i]);
    cr_assert(stat(path, &s) == 0 && s.st_size == 5, "%s was changed", path);
  }
}

Test(checkpoint_writers, links_are_followed_neither_for_writing_nor_for_removing)
{
  static const char *const folders[] = {"step-8.tmp", "step-9", "step-9.1", "step-12.tmp"};
  char elsewhere[128], path[PATH_MAX];
  zp_error err = {0};
  make_elsewhere(elsewhere);
  for (int i = 0; i < 4; i++) cr_assert_eq(symlink(elsewhere, in_dir(folders[i])), 0);
  save(10, 4); /* cleans up */
  check_elsewhere(elsewhere);
  cr_assert_eq(save_at(dir, 12, 4, NULL, &err), ZP_E_FILE); /* step-12.tmp is a link */
  cr_assert(strstr(err.text, "step-12.tmp") && strstr(err.text, "links"), "%s", err.text);
  save(9, 4); /* the name is taken by a link, and so is the next */
  cr_assert(is_there("step-9.2"));
  check_current(9, 4);
  snprintf(path, sizeof path, "%s/LOCK", elsewhere);
  cr_assert_eq(unlink(in_dir("LOCK")), 0);
  cr_assert_eq(symlink(path, in_dir("LOCK")), 0);
  memset(&err, 0, sizeof err);
  cr_assert_eq(save_at(dir, 11, 4, NULL, &err), ZP_E_FILE);
  cr_assert(strstr(err.text, "LOCK") && strstr(err.text, "links"), "%s", err.text);
  cr_assert_eq(unlink(in_dir("LOCK")), 0);
  cr_assert_eq(mkdir(in_dir("step-11.tmp"), 0777), 0);
  snprintf(path, sizeof path, "%s/rank-0.bin", elsewhere);
  cr_assert_eq(symlink(path, in_dir("step-11.tmp/rank-0.bin")), 0);
  snprintf(path, sizeof path, "%s/manifest.json", elsewhere);
  cr_assert_eq(symlink(path, in_dir("LATEST.tmp")), 0);
  memset(&err, 0, sizeof err);
  cr_assert_eq(save_at(dir, 11, 4, NULL, &err), ZP_E_FILE); /* LATEST.tmp */
  check_elsewhere(elsewhere);
  cr_assert_eq(unlink(in_dir("LATEST.tmp")), 0);
  save(13, 4);
  check_current(13, 4);
  check_elsewhere(elsewhere);
  nftw(elsewhere, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

Test(checkpoint_writers, links_are_not_followed_for_reading)
{
  zp_error err = {0};
  zp_ckpt_reader *r;
  zp_store store;
  char link_to_dir[128];
  save(5, 4);
  cr_assert_eq(rename(in_dir("step-5"), in_dir("elsewhere")), 0);
  cr_assert_eq(symlink("elsewhere", in_dir("step-5")), 0);
  check_refused(dir, model, ZP_E_FILE, "step-5");
  check_refused(dir, model, ZP_E_FILE, "links in a checkpoint are not followed");
  /* the user's own link to the folder is followed */
  snprintf(link_to_dir, sizeof link_to_dir, "%s-link", dir);
  cr_assert_eq(symlink(in_dir("elsewhere"), link_to_dir), 0);
  cr_assert_eq(zp_ckpt_reader_open(&r, link_to_dir, model, &store, &err), 0, "%s", err.text);
  zp_ckpt_reader_close(r);
  unlink(link_to_dir);
  cr_assert_eq(rename(in_dir("LATEST"), in_dir("LATEST.real")), 0);
  cr_assert_eq(symlink("LATEST.real", in_dir("LATEST")), 0);
  check_refused(dir, model, ZP_E_FILE, "links in a checkpoint are not followed");
}

/* ---- The disk. CKPT-2 ------------------------------------------------------------------------ */

static dev_t synced_device[4096];
static ino_t synced_inode[4096];
static int synced;

/* In place of the C library's: remembers what was synced. */
int fsync(int fd)
{
  struct stat s;
  if (fstat(fd, &s) == 0 && synced < 4096) {
    synced_device[synced] = s.st_dev;
    synced_inode[synced++] = s.st_ino;
  }
  return (int)syscall(SYS_fsync, fd);
}

static int was_synced(const char *path)
{
  struct stat s;
  cr_assert_eq(stat(path, &s), 0, "%s", path);
  for (int i = 0; i < synced; i++)
    if (synced_device[i] == s.st_dev && synced_inode[i] == s.st_ino) return 1;
  return 0;
}

Test(checkpoint_writers, the_parent_of_a_new_folder_is_synced)
{
  static const char *const files[] = {"new/LATEST", "new/step-1", "new/step-1/manifest.json",
                                      "new/step-1/rank-0.bin", "new"};
  zp_error err = {0};
  char path[128];
  synced = 0;
  snprintf(path, sizeof path, "%s/new///", dir); /* the slashes are not a folder of their own */
  cr_assert_eq(save_at(path, 1, 4, NULL, &err), 0, "%s", err.text);
  cr_assert(was_synced(dir), "the entry of the new folder");
  for (int i = 0; i < 5; i++) cr_assert(was_synced(in_dir(files[i])), "%s", files[i]);
}
