/* What engine_faults does with trials, for the waits of SAVE and LOAD, which no trial has: left
 * out, they are found in the plain and in the ThreadSanitizer build. A line "ok" or "not ok" for
 * each. */
#include "engine_case.h"

#ifdef __SANITIZE_THREAD__
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif

enum { JOBS = 40, ORDERS = 8 };

/* Under which order a job that saves and loads is found to be wrong; the first job is clean without
 * the fault. 0: none is. */
static uint32_t found(const zp_cuda_fault *f, const char **why)
{
  for (uint32_t seed = 1; seed <= JOBS; seed++) {
    static job j;
    simdev *s = NULL;
    int bad = job_fill(&j, seed, 4) != 0;
    if (!bad && j.saves) {
      s = job_simdev(&j, NULL);
      for (uint64_t k = 0; k < ORDERS && !bad; k++) {
        const simdev_options o = {.seed = k, .order = SIMDEV_LAZY, .stack_bytes = 1 << 20};
        const simdev_status want = f && TSAN ? SIMDEV_E_RACE : SIMDEV_E_HOST;
        j.fault = f;
        bad = job_run(&j, s, &o) == want && (TSAN || j.text[0]);
        *why = bad ? "" : simdev_result(s)->text;
      }
    }
    if (s) simdev_close(s);
    job_free(&j);
    if (bad) return seed;
  }
  return 0;
}

int main(void)
{
  static const int32_t sites[] = {ZP_SITE_STORED_RECORD, ZP_SITE_STORED_HOST};
  const char *why = "";
  int missed = found(NULL, &why) != 0;
  printf("%s saving_and_loading\n", missed ? "not ok" : "ok");
  for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
    const zp_cuda_fault f = {.site = sites[i], .rank = -1};
    const uint32_t job = found(&f, &why);
    printf("%s drop-sync:%s\n", job ? "ok" : "not ok", zp_cuda_site_name(f.site));
    if (job == 0) printf("# %s\n", why);
    missed += job == 0;
  }
  return missed > 0;
}
