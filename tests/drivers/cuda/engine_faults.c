/* Injects each fault of cuda/verify/faults.h into the CUDA engine, leaves out each wait and record
 * that the engine issues, and reports whether it is found; in the plain and in the ThreadSanitizer
 * build:
 *   engine_faults check        each fault's own case: clean without it, found with it; prints "ok"
 *                              or "not ok". Under ThreadSanitizer a race must name both accesses,
 *                              and be found in every order
 *   engine_faults hunt CASE N [FAULT]
 *                              the faults that orders 1 … N of a case find: name, order, finding
 *   engine_faults confirm CASE reads lines of hunt; prints the first of each fault that this build
 *                              finds as well
 *   engine_faults single N CASE …
 *                              leaves out each single wait and record of the cases, under N sets of
 *                              announcements: "ok" for a sync point if each of its waits is found
 *   engine_faults table        the sync points as a Markdown table
 *   engine_faults names        all faults, with their names in faults_found.h
 * spec: STRM-1, STRM-2, STRM-3, STRM-4, STRM-5, STRM-6, STRM-7, STRM-9 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"
#include "../../../cuda/verify/faults.h"
#include "../../../cuda/verify/state.h"

#ifdef __SANITIZE_THREAD__
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif

static int open_text(zp_diff_case *j, const char *text)
{
  static zp_error err;
  zp_case c;
  char why[256];
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why)) {
    printf("not ok %s: %s\n", text, why);
    return -1;
  }
  if (zp_diff_case_open(j, &c, &err) == 0) return 0;
  printf("not ok %s: %s\n", text, err.text);
  return -1;
}

/* The kind of the run's finding; "" if it finds nothing. */
static const char *run(zp_diff_case *j, const zp_schedule *s)
{
  return zp_diff_run(j->diff, s) ? zp_diff_finding(j->diff)->kind : "";
}

enum { FURTHER_SCHEDULES = 200 };

/* ---- Check ----------------------------------------------------------------------------------- */

/* Whether both accesses are reported with rank and call, and with a stream unless made by a
 * host. */
static int both_named(const char *text)
{
  int32_t named = 0, hosts = 0;
  for (const char *line = text; (line = strstr(line, " by rank ")) != NULL; line++) {
    const char *end = line + strcspn(line, "\n"), *stream = strstr(line, ", stream '"),
               *call = strstr(line, "call ");
    hosts += !stream || stream > end;
    named += call && call < end;
  }
  return named == 2 && hosts < 2;
}

/* A race under every order of execution, both sides named. */
static int raced(zp_diff_case *j, zp_schedule s, char *why, size_t cap)
{
  for (int32_t order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++) {
    const char *text = zp_diff_finding(j->diff)->text;
    s.order = (simdev_order)order;
    snprintf(why, cap, "order %d", order);
    if (strcmp(run(j, &s), "race") != 0) return 0;
    snprintf(why, cap, "%s", text);
    if (!both_named(text)) return 0;
  }
  return 1;
}

/* The host frees memory that a copy still reads: AddressSanitizer ends the program. */
static int ends_the_program(const zp_cuda_fault *f)
{
#ifdef __SANITIZE_ADDRESS__
  return f->injection.sync_point == ZP_SYNC_OPENED_RECORD ||
         f->injection.sync_point == ZP_SYNC_OPENED_HOST;
#else
  (void)f;
  return 0;
#endif
}

/* Opens a case, unless the last one only differs in its schedule. NULL: it could not be opened, or
 * text is NULL: closes the last one. */
static zp_diff_case *cached_case(const char *text, uint64_t *schedule)
{
  static zp_diff_case j;
  static char now[ZP_CASE_TEXT];
  const char *at = text != NULL ? strstr(text, ",schedule=") : NULL;
  const size_t n = at ? (size_t)(at - text) : 0;
  if (n == 0 || n >= sizeof now || strlen(now) != n || memcmp(now, text, n) != 0) {
    if (now[0]) zp_diff_case_close(&j);
    now[0] = 0;
    if (n == 0 || n >= sizeof now || open_text(&j, text)) return NULL;
    memcpy(now, text, n);
    now[n] = 0;
  }
  *schedule = strtoull(at + 10, NULL, 10);
  return &j;
}

/* Whether the same schedule finds nothing without the fault. */
static int is_clean(zp_diff_case *j, const zp_cuda_fault *f, uint64_t schedule)
{
  static const char *last;
  static int32_t last_loop;
  zp_schedule s = zp_case_schedule(&j->c, schedule, f);
  s.inject = NULL;
  s.forgets = s.repeats = s.waits_for_all = s.path = 0;
  if (last && strcmp(last, f->fault.example) == 0 && s.own_loop == last_loop && !s.count_flight)
    return 1; /* just seen */
  last = s.count_flight ? NULL : f->fault.example;
  last_loop = s.own_loop;
  return run(j, &s)[0] == 0;
}

/* Runs the schedule of faults_found.h and, if the engine has changed since so that this finds
 * nothing, further ones; `make faults` is then due. Returns the finding; s: its schedule. */
static const char *find_fault(zp_diff_case *j, const zp_cuda_fault *f, zp_schedule *s)
{
  const uint64_t first = s->seed;
  for (uint64_t k = 0; k < FURTHER_SCHEDULES; k++) {
    const char *as;
    *s = zp_case_schedule(&j->c, first + k, f);
    as = run(j, s);
    if (!as[0]) continue;
    if (k > 0)
      printf("# %s: run make faults: schedule %llu finds it now\n", f->fault.name,
             (unsigned long long)(first + k));
    return as;
  }
  return "";
}

static int check_one(const zp_cuda_fault *f)
{
  static char why[2 * ZP_DIFF_TEXT];
  uint64_t schedule;
  zp_diff_case *j;
  zp_schedule s;
  int ok;
  if (ends_the_program(f)) return 1;
  j = cached_case(f->fault.example, &schedule);
  if (!j) {
    printf("not ok %s\n# it has no case: make faults\n", f->fault.name);
    return 0;
  }
  ok = is_clean(j, f, schedule);
  snprintf(why, sizeof why, "without it: %s", zp_diff_finding(j->diff)->text);
  s = zp_case_schedule(&j->c, schedule, f);
  if (ok) {
    const char *as = find_fault(j, f, &s), *want = f->found_as[TSAN];
    /* a wrong result depends on the order of execution; a race does not */
    ok = as[0] && (strcmp(want, "race") != 0 || strcmp(as, want) == 0);
    snprintf(why, sizeof why, "found as '%s', not '%s': %s", as, want,
             zp_diff_finding(j->diff)->text);
  }
  if (ok && TSAN && f->injection.mistake && strcmp(f->found_as[TSAN], "race") == 0)
    ok = raced(j, s, why, sizeof why);
  printf("%s %s\n", ok ? "ok" : "not ok", f->fault.name);
  if (!ok) printf("# %s\n", why);
  return ok;
}

static int check(void)
{
  int32_t missed = 0;
  for (int32_t i = 0; i < zp_cuda_fault_count(); i++)
    missed += !check_one(zp_cuda_fault_of(zp_cuda_fault_at(i)));
  cached_case(NULL, NULL);
  return missed > 0;
}

/* ---- Hunt ------------------------------------------------------------------------------------ */

static int hunt(const char *text, uint64_t n, const char *only)
{
  static zp_diff_case j;
  if (open_text(&j, text)) return 2;
  for (int32_t i = 0; i < zp_cuda_fault_count(); i++)
    for (uint64_t k = 1; k <= n; k++) {
      const zp_fault *f = zp_cuda_fault_at(i);
      const zp_schedule s = zp_case_schedule(&j.c, k, zp_cuda_fault_of(f));
      if (only && strcmp(only, f->name) != 0) break;
      const char *as = run(&j, &s);
      if (as[0]) printf("%s %llu %s\n", f->name, (unsigned long long)k, as);
    }
  zp_diff_case_close(&j);
  return 0;
}

/* Reads hunt's lines; prints the first of each fault that this build finds too, and its finding. */
static int confirm(const char *text)
{
  static zp_diff_case j;
  char name[64], as[32], done[64] = "";
  unsigned long long k;
  if (open_text(&j, text)) return 2;
  while (scanf("%63s %llu %31s", name, &k, as) == 3) {
    const zp_fault *f = zp_cuda_fault_find(name);
    zp_schedule s;
    if (!f || strcmp(name, done) == 0) continue;
    s = zp_case_schedule(&j.c, k, zp_cuda_fault_of(f));
    if (run(&j, &s)[0] == 0) continue;
    printf("%s %llu %s %s\n", name, k, as, zp_diff_finding(j.diff)->kind);
    snprintf(done, sizeof done, "%s", name);
  }
  zp_diff_case_close(&j);
  return 0;
}

/* ---- One by one ------------------------------------------------------------------------------ */

/* Whether the k-th item is a record whose event is recorded again before any wait for it. */
static int is_unused_record(const zp_diff_syncs *l, int64_t k)
{
  const zp_diff_sync *y = l->sync;
  if (!strstr(zp_cuda_sync_point_name(y[k].site), ".record")) return 0;
  for (int64_t i = k + 1; i < l->n; i++)
    if (y[i].event == y[k].event)
      return strstr(zp_cuda_sync_point_name(y[i].site), ".record") != NULL;
  return 1;
}

static int orders_communication(int32_t site)
{
  return site == ZP_SYNC_ORDER_RECORD || site == ZP_SYNC_ORDER_WAIT;
}

/* How many orders to try. A race is found in each order, but ThreadSanitizer remembers only the
 * last four accesses of eight bytes. Few orders show a deadlock of communication. */
static uint64_t orders_of(int32_t site)
{
  if (orders_communication(site)) return 400;
  return TSAN && site != ZP_SYNC_ENDED_HOST ? 4 : 200;
}

/* A schedule with one of the case's sets of announcements. chained: 0: NCCL keeps the order of
 * communications, as events that keep it would order much else; 1: events keep it, and the device
 * runs one communication at a time. */
static zp_schedule single_of(const zp_diff_case *j, uint64_t announcements, int chained)
{
  zp_schedule s = zp_case_schedule(&j->c, announcements, NULL);
  if (s.producers == 1) s.producers = 2;
  s.hosts = s.alarm = 0; /* one host: the numbers of waits are the same in each order */
  s.own_loop = 0; /* with all losses on one stream, the wait for the last one implies the others */
  s.launch_order = chained ? 1 : 2;
  if (chained) s.one_comm_kernel = SIMDEV_ALWAYS;
  return s;
}

static int is_found(zp_diff_case *j, zp_schedule s, const zp_injection *f)
{
  const uint64_t first = s.seed;
  s.inject = f;
  s.count_flight = f->sync_point == ZP_SYNC_ENDED_HOST;
  for (uint64_t k = 0; k < orders_of(f->sync_point); k++) {
    static const simdev_order orders[4] = {SIMDEV_LAZY, SIMDEV_PCT, SIMDEV_RANDOM, SIMDEV_RANDOM};
    s.seed = first + k;
    s.order = orders[k % 4];
    if (run(j, &s)[0]) return 1;
  }
  return 0;
}

/* The n-th wait or record of a sync point on a rank. issued: runs that issued it; awaited: runs in
 * which it was a wait, or a record that a stream waited for; found: 1: leaving it out is found. */
enum { RANKS = 8, NUMBERS = 256 };
typedef struct number {
  int32_t issued, awaited, found;
} number;
typedef struct singles {
  number of[ZP_SYNC_END][RANKS][NUMBERS];
} singles;

/* Leaves out, one by one, the waits and records of a rank in a run that are not found yet. */
static void each_of_rank(zp_diff_case *j, zp_schedule s, const zp_diff_syncs *l, int32_t rank,
                         singles *to)
{
  int64_t nth[ZP_SYNC_END] = {0};
  for (int64_t k = 0; k < l->n; k++) {
    const int32_t site = l->sync[k].site;
    const zp_injection f = {.sync_point = site, .rank = rank, .nth = ++nth[site]};
    number *n = &to->of[site][rank][f.nth < NUMBERS ? f.nth : 0];
    n->issued++;
    if (is_unused_record(l, k) || orders_communication(site) != (s.launch_order == 1)) continue;
    n->awaited++;
    if (!n->found) n->found = is_found(j, s, &f);
  }
}

/* Those of all ranks. 0, or -1: the run fails with all of them in place. */
static int each_of(zp_diff_case *j, uint64_t announcements, int chained, singles *to)
{
  const int32_t world = zp_world(&j->c.cfg);
  zp_schedule s = single_of(j, announcements, chained);
  zp_diff_syncs l[RANKS];
  s.record = 1;
  if (world > RANKS || run(j, &s)[0]) return -1;
  s.record = 0;
  memcpy(l, j->diff->syncs, (size_t)world * sizeof *l);
  memset(j->diff->syncs, 0, (size_t)world * sizeof *l); /* later runs allocate their own */
  for (int32_t rank = 0; rank < world; rank++) {
    each_of_rank(j, s, &l[rank], rank, to);
    free(l[rank].sync);
  }
  return 0;
}

/* Other waits may imply one that few runs issue, which depends on the announcements. A wait that at
 * least this many runs issue must be found. */
enum { FEW = 4 };

static int judge(int32_t site, const singles *s)
{
  int32_t awaited = 0, missed = 0, few = 0, unused = 0;
  char which[256] = "";
  for (int32_t rank = 0; rank < RANKS; rank++)
    for (int32_t i = 0; i < NUMBERS; i++) {
      const number *n = &s->of[site][rank][i];
      const size_t used = strlen(which);
      awaited += n->awaited > 0;
      unused += n->issued > 0 && n->awaited == 0;
      if (n->awaited == 0 || n->found) continue;
      if (n->awaited < FEW) few++;
      else {
        missed++;
        snprintf(which + used, sizeof which - used, " %d:%d", rank, i);
      }
    }
  if (awaited == 0) return 0;
  printf("%s each_%s\n", missed ? "not ok" : "ok", zp_cuda_sync_point_name(site));
  printf("# %d of %d awaited records and waits are needed; %d more were never awaited\n",
         awaited - missed - few, awaited, unused);
  if (missed) printf("# not found (rank:number):%s\n", which);
  return missed > 0;
}

/* All waits and records of the cases, under announcements 1 … n of each. A device that runs one
 * communication at a time shows deadlocks, not races, so only the plain build tries it. */
static int single(uint64_t n, char **text, int32_t cases)
{
  static singles all;
  static zp_diff_case j;
  int missed = 0;
  for (int32_t i = 0; i < cases; i++) {
    if (open_text(&j, text[i])) return 2;
    for (uint64_t k = 1; k <= n; k++)
      for (int chained = 0; chained <= (!TSAN && j.c.cfg.pp > 1); chained++)
        if (each_of(&j, k, chained, &all)) {
          printf("not ok %s: %s\n", text[i], zp_diff_finding(j.diff)->text);
          return 2;
        }
    zp_diff_case_close(&j);
  }
  for (int32_t site = 1; site < ZP_SYNC_END; site++) missed += judge(site, &all);
  return missed > 0;
}

/* ---- Table ----------------------------------------------------------------------------------- */

enum { CASES = 26 };

/* The index of a case, which is added if it is new; schedules are ignored. */
static int32_t letter(const char **cases, const char *text)
{
  int32_t i = 0;
  const size_t n = (size_t)(strstr(text, ",schedule=") - text);
  while (i < CASES && cases[i] && strncmp(cases[i], text, n + 10) != 0) i++;
  if (i < CASES) cases[i] = text;
  return i;
}

static int table(void)
{
  const char *cases[CASES] = {NULL};
  printf("| N | sync point | clause | what waits, or where it records | plain | TSan | case, "
         "schedule |\n"
         "|---|---|---|---|---|---|---|\n");
  for (int32_t i = 0; i < zp_cuda_fault_count(); i++) {
    const zp_cuda_fault *f = zp_cuda_fault_of(zp_cuda_fault_at(i));
    const char *at = strstr(f->fault.example, ",schedule=");
    if (!f->injection.sync_point) continue;
    printf("| %d | %s | %s | %s | ", f->injection.sync_point,
           zp_cuda_sync_point_name(f->injection.sync_point), f->fault.clause,
           zp_cuda_sync_point_why(f->injection.sync_point));
    if (!at) return 1; /* make faults */
    printf("%s | %s | %c %s |\n", f->found_as[0], f->found_as[1],
           'A' + letter(cases, f->fault.example), at + 10);
  }
  printf("\n");
  for (int32_t i = 0; i < CASES && cases[i]; i++)
    printf("- %c: `%.*s`\n", 'A' + i, (int)(strstr(cases[i], ",schedule=") - cases[i]), cases[i]);
  return 0;
}

static int names(void)
{
  for (int32_t i = 0; i < zp_cuda_fault_count(); i++) {
    const zp_fault *f = zp_cuda_fault_at(i);
    printf("%s %s\n", f->name, zp_cuda_fault_of(f)->id);
  }
  return 0;
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[1], "check") == 0) return check();
  if (argc == 2 && strcmp(argv[1], "table") == 0) return table();
  if (argc >= 4 && strcmp(argv[1], "single") == 0)
    return single(strtoull(argv[2], NULL, 10), argv + 3, argc - 3);
  if (argc == 3 && strcmp(argv[1], "confirm") == 0) return confirm(argv[2]);
  if (argc == 2 && strcmp(argv[1], "names") == 0) return names();
  if ((argc == 4 || argc == 5) && strcmp(argv[1], "hunt") == 0)
    return hunt(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
  fprintf(stderr,
          "usage: engine_faults check | hunt CASE N [FAULT] | confirm CASE | single N CASE ... | "
          "table | names\n");
  return 2;
}
