/* Draws a job of the engine: engine_timeline JOB TRACE.json PICTURE.svg [RANK N | whole]
 * RANK N: without rank RANK's N-th wait or record; whole: each fill of a slot waits for the whole
 * reduction stream. Exit code 0, or 1 with a reason. */
#include "engine_case.h"

static int draw(uint32_t seed, const char *trace, const char *svg, const simdev_fault *f,
                int32_t whole)
{
  static job j;
  static uint8_t get[STEPS_MAX];
  char text[ZP_PATH_TEXT] = "the job cannot be made", title[200];
  const simdev_options run = {
      .seed = seed, .order = SIMDEV_LAZY, .record = 1, .faults = f, .fault_count = f != NULL};
  int failed = job_fill(&j, seed, RANKS_MAX);
  simdev *s;
  j.threads = 0;
  s = failed ? NULL : job_simdev(&j, NULL);
  j.whole_stream = whole;
  if (s) {
    const simdev_status status = job_run(&j, s, &run);
    const zp_path_case c = job_path(&j, get);
    job_describe(&j, title, sizeof title);
    const zp_timeline_options o = {trace, svg, title,
                                   status == SIMDEV_OK ? NULL
                                   : j.text[0]         ? j.text
                                                       : simdev_result(s)->text};
    failed = zp_timeline_write(&c, s, &o, text, sizeof text);
    printf("%s: %s\n", title, o.finding ? o.finding : "nothing was found");
  }
  if (failed) printf("%s\n", text);
  simdev_close(s);
  job_free(&j);
  return failed;
}

int main(int argc, char **argv)
{
  simdev_fault f = {.kind = SIMDEV_FAULT_DROP_SYNC};
  const int whole = argc == 5 && strcmp(argv[4], "whole") == 0;
  if (argc != 4 && argc != 6 && !whole) {
    fprintf(stderr, "usage: engine_timeline JOB TRACE.json PICTURE.svg [RANK N | whole]\n");
    return 2;
  }
  if (argc == 6) {
    f.rank = atoi(argv[4]);
    f.n = atoi(argv[5]);
  }
  return draw((uint32_t)atoi(argv[1]), argv[2], argv[3], argc == 6 ? &f : NULL, whole);
}
