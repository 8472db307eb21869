/* Plants every mistake of cuda/trial/faults.h into the CUDA engine, removes every wait and record
 * that the engine issues, and looks whether it is found; in the plain and in the ThreadSanitizer
 * build:
 *   engine_faults check        each fault's own case: clean without it, found with it; a line "ok"
 *                              or "not ok" each. Under ThreadSanitizer, named races in every order
 *   engine_faults hunt CASE N [FAULT]
 *                              which faults the orders 1 … N of a case find: name, order, as what
 *   engine_faults confirm CASE which of hunt's lines this build finds, too: the first of each name
 *   engine_faults single N CASE …  leaves out each single wait and record of the cases, under N ways
 *                              to announce each: "ok" for each site of which every number is found
 *   engine_faults table        the sites, for people, as Markdown
 *   engine_faults names        all faults, with their names in found.h
 * spec: STRM-1, STRM-2, STRM-3, STRM-4, STRM-5, STRM-6, STRM-7, STRM-9 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cuda/trial/case.h"
#include "../../cuda/trial/faults.h"
#include "../../cuda/trial/trial_internal.h"

#ifdef __SANITIZE_THREAD__
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif

static int open_text(zp_trial_subject *j, const char *text)
{
  static zp_error err;
  zp_case c;
  char why[256];
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why)) {
    printf("not ok %s: %s\n", text, why);
    return -1;
  }
  if (zp_trial_subject_open(j, &c, &err) == 0) return 0;
  printf("not ok %s: %s\n", text, err.text);
  return -1;
}

/* What the run finds, in a word; "" nothing. */
static const char *run(zp_trial_subject *j, const zp_trial_schedule *s)
{
  return zp_trial_run(j->trial, s) ? zp_trial_why(j->trial)->kind : "";
}

enum { NEAR = 200 };

/* ---- Check ----------------------------------------------------------------------------------- */

/* Both accesses with rank and call, and of what is not a host's the stream. */
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
static int raced(zp_trial_subject *j, zp_trial_schedule s, char *why, size_t cap)
{
  for (int32_t order = SIMDEV_RANDOM; order <= SIMDEV_LAZY; order++) {
    const char *text = zp_trial_why(j->trial)->text;
    s.order = (simdev_order)order;
    snprintf(why, cap, "order %d", order);
    if (strcmp(run(j, &s), "race") != 0) return 0;
    snprintf(why, cap, "%s", text);
    if (!both_named(text)) return 0;
  }
  return 1;
}

/* Memory that the host gives back while a copy reads it: AddressSanitizer ends the program. */
static int is_deadly(const zp_twin_fault *f)
{
#ifdef __SANITIZE_ADDRESS__
  return f->planted.site == ZP_SITE_OPENED_RECORD || f->planted.site == ZP_SITE_OPENED_HOST;
#else
  (void)f;
  return 0;
#endif
}

/* The trial of a case: many faults have the same but for the schedule. NULL: it was not opened. */
static zp_trial_subject *trial_of(const char *text, uint64_t *schedule)
{
  static zp_trial_subject j;
  static char now[ZP_CASE_TEXT];
  const char *at = text != NULL ? strstr(text, ",schedule=") : NULL;
  const size_t n = at ? (size_t)(at - text) : 0;
  if (n == 0 || n >= sizeof now || strlen(now) != n || memcmp(now, text, n) != 0) {
    if (now[0]) zp_trial_subject_close(&j);
    now[0] = 0;
    if (n == 0 || n >= sizeof now || open_text(&j, text)) return NULL;
    memcpy(now, text, n);
    now[n] = 0;
  }
  *schedule = strtoull(at + 10, NULL, 10);
  return &j;
}

/* Without the fault nothing is found: in the same order. */
static int is_clean(zp_trial_subject *j, const zp_twin_fault *f, uint64_t schedule)
{
  static const char *last;
  static int32_t last_loop;
  zp_trial_schedule s = zp_twin_schedule(&j->c, schedule, f);
  s.plant = NULL;
  s.forgets = s.repeats = s.waits_for_all = s.path = 0;
  if (last && strcmp(last, f->fault.first) == 0 && s.own_loop == last_loop && !s.count_flight)
    return 1; /* just seen */
  last = s.count_flight ? NULL : f->fault.first;
  last_loop = s.own_loop;
  return run(j, &s)[0] == 0;
}

/* In the schedule that found.h names or, when the engine has changed since, in one behind it: then
 * `make faults` is due, which is said. What it was found as; s: the schedule. */
static const char *found_near(zp_trial_subject *j, const zp_twin_fault *f, zp_trial_schedule *s)
{
  const uint64_t first = s->seed;
  for (uint64_t k = 0; k < NEAR; k++) {
    const char *as;
    *s = zp_twin_schedule(&j->c, first + k, f);
    as = run(j, s);
    if (!as[0]) continue;
    if (k > 0)
      printf("# %s: make faults: it takes schedule %llu now\n", f->fault.name,
             (unsigned long long)(first + k));
    return as;
  }
  return "";
}

static int check_one(const zp_twin_fault *f)
{
  static char why[2 * ZP_TRIAL_TEXT];
  uint64_t schedule;
  zp_trial_subject *j;
  zp_trial_schedule s;
  int ok;
  if (is_deadly(f)) return 1;
  j = trial_of(f->fault.first, &schedule);
  if (!j) {
    printf("not ok %s\n# it has no case: make faults\n", f->fault.name);
    return 0;
  }
  ok = is_clean(j, f, schedule);
  snprintf(why, sizeof why, "without it: %s", zp_trial_why(j->trial)->text);
  s = zp_twin_schedule(&j->c, schedule, f);
  if (ok) {
    const char *as = found_near(j, f, &s), *want = f->found_as[TSAN];
    /* what a wrong order does to the results is up to the order; a race is one in any */
    ok = as[0] && (strcmp(want, "race") != 0 || strcmp(as, want) == 0);
    snprintf(why, sizeof why, "found as '%s', not '%s': %s", as, want,
             zp_trial_why(j->trial)->text);
  }
  if (ok && TSAN && f->planted.plant && strcmp(f->found_as[TSAN], "race") == 0)
    ok = raced(j, s, why, sizeof why);
  printf("%s %s\n", ok ? "ok" : "not ok", f->fault.name);
  if (!ok) printf("# %s\n", why);
  return ok;
}

static int check(void)
{
  int32_t missed = 0;
  for (int32_t i = 0; i < zp_twin_fault_count(); i++)
    missed += !check_one(zp_twin_fault_of(zp_twin_fault_at(i)));
  trial_of(NULL, NULL);
  return missed > 0;
}

/* ---- Hunt ------------------------------------------------------------------------------------ */

static int hunt(const char *text, uint64_t n, const char *only)
{
  static zp_trial_subject j;
  if (open_text(&j, text)) return 2;
  for (int32_t i = 0; i < zp_twin_fault_count(); i++)
    for (uint64_t k = 1; k <= n; k++) {
      const zp_fault *f = zp_twin_fault_at(i);
      const zp_trial_schedule s = zp_twin_schedule(&j.c, k, zp_twin_fault_of(f));
      if (only && strcmp(only, f->name) != 0) break;
      const char *as = run(&j, &s);
      if (as[0]) printf("%s %llu %s\n", f->name, (unsigned long long)k, as);
    }
  zp_trial_subject_close(&j);
  return 0;
}

/* Of hunt's lines, those that this build confirms: the first of each name, and as what. */
static int confirm(const char *text)
{
  static zp_trial_subject j;
  char name[64], as[32], done[64] = "";
  unsigned long long k;
  if (open_text(&j, text)) return 2;
  while (scanf("%63s %llu %31s", name, &k, as) == 3) {
    const zp_fault *f = zp_twin_fault_find(name);
    zp_trial_schedule s;
    if (!f || strcmp(name, done) == 0) continue;
    s = zp_twin_schedule(&j.c, k, zp_twin_fault_of(f));
    if (run(&j, &s)[0] == 0) continue;
    printf("%s %llu %s %s\n", name, k, as, zp_trial_why(j.trial)->kind);
    snprintf(done, sizeof done, "%s", name);
  }
  zp_trial_subject_close(&j);
  return 0;
}

/* ---- One by one ------------------------------------------------------------------------------ */

/* Was the k-th wait or record of the list one that nobody takes: a record, and no wait for its event
 * before that is recorded again? */
static int is_vain(const zp_trial_syncs *l, int64_t k)
{
  const zp_trial_sync *y = l->sync;
  if (!strstr(zp_cuda_site_name(y[k].site), ".record")) return 0;
  for (int64_t i = k + 1; i < l->n; i++)
    if (y[i].event == y[k].event) return strstr(zp_cuda_site_name(y[i].site), ".record") != NULL;
  return 1;
}

static int orders_communication(int32_t site)
{
  return site == ZP_SITE_ORDER_RECORD || site == ZP_SITE_ORDER_WAIT;
}

/* A race is one in each order, but ThreadSanitizer remembers only four accesses of eight bytes. What
 * communication the order of launches keeps from standing still, few orders show. */
static uint64_t orders_of(int32_t site)
{
  if (orders_communication(site)) return 400;
  return TSAN && site != ZP_SITE_ENDED_HOST ? 4 : 200;
}

/* The case's announcements number `announcements`, where order between communications is NCCL's to
 * keep: events that keep it would keep much else; or theirs, where a device runs one at a time. */
static zp_trial_schedule single_of(const zp_trial_subject *j, uint64_t announcements, int chained)
{
  zp_trial_schedule s = zp_twin_schedule(&j->c, announcements, NULL);
  if (s.producers == 1) s.producers = 2;
  s.hosts = s.alarm = 0; /* one host: numbers are the same in each order */
  s.own_loop = 0; /* of losses that one stream gives, the last one's wait implies the others */
  s.launch_order = chained ? 1 : 2;
  if (chained) s.one_comm_kernel = SIMDEV_ALWAYS;
  return s;
}

static int is_found(zp_trial_subject *j, zp_trial_schedule s, const zp_cuda_fault *f)
{
  const uint64_t first = s.seed;
  s.plant = f;
  s.count_flight = f->site == ZP_SITE_ENDED_HOST;
  for (uint64_t k = 0; k < orders_of(f->site); k++) {
    static const simdev_order orders[4] = {SIMDEV_LAZY, SIMDEV_PCT, SIMDEV_RANDOM, SIMDEV_RANDOM};
    s.seed = first + k;
    s.order = orders[k % 4];
    if (run(j, &s)[0]) return 1;
  }
  return 0;
}

/* What is known of number n of a site on a rank: in how many runs it was issued, and somebody waited
 * for it, or it is a wait; 1 when a run was found to need it. */
enum { RANKS = 8, NUMBERS = 256 };
typedef struct number {
  int32_t issued, awaited, found;
} number;
typedef struct singles {
  number of[ZP_SITE_END][RANKS][NUMBERS];
} singles;

/* Leaves out one by one what a rank waits for and records in a run, but for what was found before. */
static void each_of_rank(zp_trial_subject *j, zp_trial_schedule s, const zp_trial_syncs *l,
                         int32_t rank, singles *to)
{
  int64_t nth[ZP_SITE_END] = {0};
  for (int64_t k = 0; k < l->n; k++) {
    const int32_t site = l->sync[k].site;
    const zp_cuda_fault f = {.site = site, .rank = rank, .nth = ++nth[site]};
    number *n = &to->of[site][rank][f.nth < NUMBERS ? f.nth : 0];
    n->issued++;
    if (is_vain(l, k) || orders_communication(site) != (s.launch_order == 1)) continue;
    n->awaited++;
    if (!n->found) n->found = is_found(j, s, &f);
  }
}

/* All ranks'. 0, or -1: the run itself fails. */
static int each_of(zp_trial_subject *j, uint64_t announcements, int chained, singles *to)
{
  const int32_t world = zp_world(&j->c.cfg);
  zp_trial_schedule s = single_of(j, announcements, chained);
  zp_trial_syncs l[RANKS];
  s.record = 1;
  if (world > RANKS || run(j, &s)[0]) return -1;
  s.record = 0;
  memcpy(l, j->trial->syncs, (size_t)world * sizeof *l);
  memset(j->trial->syncs, 0, (size_t)world * sizeof *l); /* later runs have lists of their own */
  for (int32_t rank = 0; rank < world; rank++) {
    each_of_rank(j, s, &l[rank], rank, to);
    free(l[rank].sync);
  }
  return 0;
}

/* A number that few runs have may be one that others imply in all of them: whether they do is up to
 * the announcements. Numbers that at least so many runs wait for must have been found in one. */
enum { FEW = 4 };

static int judge(int32_t site, const singles *s)
{
  int32_t awaited = 0, missed = 0, few = 0, vain = 0;
  char which[256] = "";
  for (int32_t rank = 0; rank < RANKS; rank++)
    for (int32_t i = 0; i < NUMBERS; i++) {
      const number *n = &s->of[site][rank][i];
      const size_t used = strlen(which);
      awaited += n->awaited > 0;
      vain += n->issued > 0 && n->awaited == 0;
      if (n->awaited == 0 || n->found) continue;
      if (n->awaited < FEW) few++;
      else {
        missed++;
        snprintf(which + used, sizeof which - used, " %d:%d", rank, i);
      }
    }
  if (awaited == 0) return 0;
  printf("%s each_%s\n", missed ? "not ok" : "ok", zp_cuda_site_name(site));
  printf("# %d of %d that somebody waited for are needed; for %d more nobody came\n",
         awaited - missed - few, awaited, vain);
  if (missed) printf("# not found (rank:number):%s\n", which);
  return missed > 0;
}

/* Every single wait and record of the cases, under announcements 1 … n of each. What a device that
 * runs one communication at a time comes to is no race: the plain build alone looks at it. */
static int single(uint64_t n, char **text, int32_t cases)
{
  static singles all;
  static zp_trial_subject j;
  int missed = 0;
  for (int32_t i = 0; i < cases; i++) {
    if (open_text(&j, text[i])) return 2;
    for (uint64_t k = 1; k <= n; k++)
      for (int chained = 0; chained <= (!TSAN && j.c.cfg.pp > 1); chained++)
        if (each_of(&j, k, chained, &all)) {
          printf("not ok %s: %s\n", text[i], zp_trial_why(j.trial)->text);
          return 2;
        }
    zp_trial_subject_close(&j);
  }
  for (int32_t site = 1; site < ZP_SITE_END; site++) missed += judge(site, &all);
  return missed > 0;
}

/* ---- Table ----------------------------------------------------------------------------------- */

enum { CASES = 26 };

/* Which of the cases, without its schedule: the next letter where it is new. */
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
  printf("| N | site | clause | who waits for whom, and why | plain | TSan | case, schedule |\n"
         "|---|---|---|---|---|---|---|\n");
  for (int32_t i = 0; i < zp_twin_fault_count(); i++) {
    const zp_twin_fault *f = zp_twin_fault_of(zp_twin_fault_at(i));
    const char *at = strstr(f->fault.first, ",schedule=");
    if (!f->planted.site) continue;
    printf("| %d | %s | %s | %s | ", f->planted.site, zp_cuda_site_name(f->planted.site),
           f->fault.clause, zp_cuda_site_why(f->planted.site));
    if (!at) return 1; /* make faults */
    printf("%s | %s | %c %s |\n", f->found_as[0], f->found_as[1],
           'A' + letter(cases, f->fault.first), at + 10);
  }
  printf("\n");
  for (int32_t i = 0; i < CASES && cases[i]; i++)
    printf("%c: `%.*s`\n", 'A' + i, (int)(strstr(cases[i], ",schedule=") - cases[i]), cases[i]);
  return 0;
}

static int names(void)
{
  for (int32_t i = 0; i < zp_twin_fault_count(); i++) {
    const zp_fault *f = zp_twin_fault_at(i);
    printf("%s %s\n", f->name, zp_twin_fault_of(f)->id);
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
