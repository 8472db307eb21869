/* The hosts of `zeroproof elastic`: how many ranks each may still run, the file for mpirun, and the
 * end of what a job has left on them. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/child.h"
#include "../comm/job/remains.h"
#include "elastic.h"
#include "numbers.h"

enum { WORDS = 32, GONE_S = 90, ANSWER_S = 120 };
static const char *const name = "zeroproof elastic";
static const char *const ssh = "ssh -o BatchMode=yes";

/* ---- The file -------------------------------------------------------------------------------- */

/* Is this host the one that `word` names? Only its own addresses can be bound to. */
static int is_here(const char *word)
{
  const struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  char own[256] = "";
  int here = 0;
  gethostname(own, sizeof own - 1);
  if (strcmp(own, word) == 0) return 1;
  if (getaddrinfo(word, NULL, &want, &found) != 0) return 0;
  for (const struct addrinfo *a = found; a != NULL && !here; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    here = fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0;
    if (fd >= 0) close(fd);
  }
  freeaddrinfo(found);
  return here;
}

/* One line: NAME slots=N. 0; a line without a host is skipped. -1 with what is wrong with it. */
static int read_line(zp_hosts *h, char *line, char *why, size_t cap)
{
  char *rest = NULL, *more = NULL;
  line[strcspn(line, "#\r\n")] = 0;
  const char *host = strtok_r(line, " \t", &rest);
  if (host == NULL) return 0;
  const char *slots = strtok_r(NULL, " \t", &rest);
  more = slots != NULL ? strtok_r(NULL, " \t", &rest) : NULL;
  zp_host *at = &h->at[h->n];
  int64_t n = 0;
  if (slots == NULL || more != NULL || strncmp(slots, "slots=", 6) != 0 ||
      zp_parse_count(slots + 6, &n) != 0 || n < 1 || n > ZP_MAX_RANKS) {
    snprintf(why, cap, "expected 'NAME slots=N' with N from 1 to %lld", (long long)ZP_MAX_RANKS);
    return -1;
  }
  if (*host == '-' || strlen(host) >= sizeof at->name) {
    snprintf(why, cap, "'%.32s' is not the name of a host", host);
    return -1;
  }
  for (int32_t i = 0; i < h->n; i++)
    if (strcmp(h->at[i].name, host) == 0) {
      snprintf(why, cap, "%s is listed twice", host);
      return -1;
    }
  snprintf(at->name, sizeof at->name, "%s", host);
  at->slots = n;
  at->answers = 1;
  at->here = is_here(host);
  h->n++;
  return 0;
}

/* mpirun places ranks on its own host first, then on the others in the order of the file. */
static void put_here_first(zp_hosts *h)
{
  int32_t i = 0;
  while (i < h->n && !h->at[i].here) i++;
  if (i == h->n) return;
  const zp_host own = h->at[i];
  memmove(&h->at[1], &h->at[0], (size_t)i * sizeof h->at[0]);
  h->at[0] = own;
}

int zp_hosts_read(zp_hosts *h, const char *path, char *why, size_t cap)
{
  char line[1024];
  int status = 0;
  FILE *f = fopen(path, "re");
  if (f == NULL) {
    snprintf(why, cap, "%s: %s", path, strerror(errno));
    return -1;
  }
  for (int number = 1; status == 0 && fgets(line, sizeof line, f) != NULL; number++) {
    char reason[320] = "more hosts than this program runs jobs on";
    status = h->n == ZP_HOSTS_MAX ? -1 : read_line(h, line, reason, sizeof reason);
    if (status != 0) snprintf(why, cap, "%s, line %d: %s", path, number, reason);
  }
  if (status == 0 && h->n == 0) {
    snprintf(why, cap, "%s lists no host", path);
    status = -1;
  }
  fclose(f);
  put_here_first(h);
  h->file = path;
  return status;
}

/* How many ranks of the next attempt it may run. */
static int64_t usable(const zp_host *host)
{
  return host->answers ? host->slots : 0;
}

int64_t zp_hosts_slots(const zp_hosts *h, int32_t *hosts)
{
  int64_t n = 0;
  *hosts = 0;
  for (int32_t i = 0; i < h->n; i++) {
    n += usable(&h->at[i]);
    *hosts += usable(&h->at[i]) > 0;
  }
  return n;
}

int zp_hosts_write(zp_hosts *h, int64_t ranks, char *path, size_t cap)
{
  const char *folder = getenv("TMPDIR");
  *path = 0;
  for (int32_t i = 0; i < h->n; i++) {
    zp_host *host = &h->at[i];
    host->ranks = usable(host) < ranks ? usable(host) : ranks;
    ranks -= host->ranks;
  }
  if (h->file == NULL) return 0;
  snprintf(path, cap, "%s/zeroproof-hosts-XXXXXX", folder != NULL && *folder ? folder : "/tmp");
  const int fd = mkostemp(path, O_CLOEXEC);
  FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (f == NULL) return -1;
  for (int32_t i = 0; i < h->n; i++)
    if (h->at[i].ranks > 0) fprintf(f, "%s slots=%lld\n", h->at[i].name, (long long)h->at[i].ranks);
  const int failed = ferror(f);
  if (fclose(f) == 0 && !failed) return 0;
  unlink(path);
  return -1;
}

/* ---- Losses ---------------------------------------------------------------------------------- */

/* Equal up to the first dot: a host may call itself by its short or its long name. */
static int is_same(const char *x, const char *y)
{
  const size_t n = strcspn(x, "."), m = strcspn(y, ".");
  return n == m && strncmp(x, y, n) == 0 && !isdigit((unsigned char)*x);
}

/* The host of a rank that is lost: the one that it has reported, or, if the file names hosts in
 * another way, the one on which mpirun has placed it, in the order of the file. */
static zp_host *host_of(zp_hosts *h, const char *reported, int32_t rank)
{
  int64_t first = 0;
  for (int32_t i = 0; i < h->n && *reported; i++)
    if (h->at[i].ranks > 0 && is_same(h->at[i].name, reported)) return &h->at[i];
  for (int32_t i = 0; i < h->n; i++) {
    if (rank < first + h->at[i].ranks) return &h->at[i];
    first += h->at[i].ranks;
  }
  return NULL;
}

static void report_lost(const zp_host *host, const char *what)
{
  fprintf(stderr, "%s: %s %s: its %lld slot%s not used\n", name, host->name, what,
          (long long)host->slots, host->slots == 1 ? " is" : "s are");
}

void zp_hosts_lose(zp_hosts *h, const zp_attempt *a)
{
  zp_host *host = a->lost >= 0 ? host_of(h, a->host, a->lost) : NULL;
  if (host == NULL || host->slots == 0) return;
  if (a->host_lost) {
    report_lost(host, "has failed");
    host->slots = 0;
  } else host->slots--;
}

/* ---- What is left of a job ------------------------------------------------------------------- */

/* Starts, through the agent, the command that ends the job's processes on a host. */
static int ask(zp_child *c, const char *agent, const zp_host *host, const char *program,
               const char *mark)
{
  char words[4096], *rest = NULL, *argv[WORDS + 8];
  int n = 0;
  snprintf(words, sizeof words, "%s", agent != NULL ? agent : ssh);
  for (char *w = strtok_r(words, " ", &rest); w && n < WORDS; w = strtok_r(NULL, " ", &rest))
    argv[n++] = w;
  const char *const more[] = {host->name, program, "elastic", "--end-marked", mark};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) argv[n++] = (char *)(uintptr_t)more[i];
  argv[n] = NULL;
  return zp_child_open(c, argv, -1, ANSWER_S);
}

/* Reads its answer: 1 if the host cannot be used. */
static int32_t take_answer(zp_child *c, zp_host *host, int returns)
{
  char text[256] = "", why[512];
  const int code = c->stream != NULL ? zp_child_read_line(c, text, sizeof text) : 127;
  host->answers = code == 0;
  if (host->answers) return 0;
  if (*text) snprintf(why, sizeof why, "could not be cleared of the job (%s)", text);
  else if (code < 0) snprintf(why, sizeof why, "has not answered within %d s", ANSWER_S);
  else snprintf(why, sizeof why, "does not answer (exit code %d of the agent)", code);
  report_lost(host, why);
  if (!returns) host->slots = 0;
  return 1;
}

int32_t zp_hosts_clear(zp_hosts *h, const char *agent, const char *mark, int returns)
{
  char program[4096];
  int32_t lost = 0;
  zp_child *c = calloc((size_t)h->n, sizeof *c);
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (c == NULL || length < 0) {
    free(c);
    return -1;
  }
  program[length] = 0;
  for (int32_t i = 0; i < h->n; i++) {
    zp_host *host = &h->at[i];
    host->asked = !host->here && host->slots > 0 && (host->ranks > 0 || !host->answers);
    if (host->asked) (void)ask(&c[i], agent, host, program, mark);
  }
  for (int32_t i = 0; i < h->n; i++)
    if (h->at[i].asked) lost += take_answer(&c[i], &h->at[i], returns);
  free(c);
  return lost;
}

int zp_hosts_end_marked(const char *mark)
{
  char left[256] = "";
  int32_t ended = 0;
  if (zp_remains_end(ZP_ELASTIC_VARIABLE, mark, GONE_S, &ended, left, sizeof left) != 0) {
    printf("%s: not ended by SIGKILL\n", left);
    return ZP_EXIT_ENVIRONMENT;
  }
  printf("ended %d\n", (int)ended);
  return ZP_EXIT_GOOD;
}
