/* Plants every mistake of cuda/trial/faults.h into the CUDA engine, removes every wait and record
 * that the engine issues, and looks whether it is found; in the plain and in the ThreadSanitizer
 * build:
 *   engine_faults check        each fault's own case: clean without it, found with it; a line "ok"
 *                              or "not ok" each. Under ThreadSanitizer, named ones in every order
 *   engine_faults hunt CASE N [FAULT]
 *                              which faults the orders 1 … N of a case find: name, order, as what
 *   engine_faults confirm CASE which of hunt's lines this build finds, too: the first of each name
 *   engine_faults single CASE  how many single waits and records of a site this build misses, of
 *                              how many: by site, in the case's order
 *   engine_faults table        the sites, for people, as Markdown
 *   engine_faults names        all faults, with their names in found.h
 * spec: STRM-1, STRM-2, STRM-3, STRM-4, STRM-5, STRM-6 */
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
  if (ok && TSAN && f->planted.plant) ok = raced(j, s, why, sizeof why);
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

/* Leaves out each rank's n-th wait or record of a site, for every n that comes. */
static void each_of(zp_trial_subject *j, int32_t site, int64_t *found, int64_t *all)
{
  for (int32_t rank = 0; rank < zp_world(&j->c.cfg); rank++)
    for (int64_t n = 1;; n++) {
      int64_t hits = 0;
      const zp_cuda_fault f = {.site = site, .rank = rank, .nth = n, .hits = &hits};
      zp_trial_schedule s = zp_twin_schedule(&j->c, j->c.schedule, NULL);
      int seen = 0;
      s.plant = &f;
      seen = run(j, &s)[0] != 0;
      if (hits == 0) break;
      *found += seen;
      ++*all;
    }
}

static int single(const char *text)
{
  zp_trial_subject j;
  if (open_text(&j, text)) return 2;
  for (int32_t site = 1; site < ZP_SITE_END; site++) {
    int64_t found = 0, all = 0;
    each_of(&j, site, &found, &all);
    if (all > 0)
      printf("%s %lld of %lld\n", zp_cuda_site_name(site), (long long)found, (long long)all);
  }
  zp_trial_subject_close(&j);
  return 0;
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
  if (argc == 3 && strcmp(argv[1], "single") == 0) return single(argv[2]);
  if (argc == 3 && strcmp(argv[1], "confirm") == 0) return confirm(argv[2]);
  if (argc == 2 && strcmp(argv[1], "names") == 0) return names();
  if ((argc == 4 || argc == 5) && strcmp(argv[1], "hunt") == 0)
    return hunt(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
  fprintf(stderr, "usage: engine_faults check | hunt CASE N [FAULT] | confirm CASE | single CASE | "
                  "table | names\n");
  return 2;
}
