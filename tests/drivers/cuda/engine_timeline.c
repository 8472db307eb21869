/* Draws a case of the engine: engine_timeline TRACE.json PICTURE.svg [RANK N | whole]
 * RANK N: without rank RANK's N-th wait or record; whole: each fill of a slot waits for the whole
 * reduction stream. Exit code 0, or 1 with a reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../cuda/verify/case.h"

/* Two stages of two ranks, ZeRO stage 2, three buckets, four micro-batches. */
static const char text[] = "precision=fp32,M=4,bucket=6,pp=2,dp=2,stage=2,steps=2,"
                           "list=12@0.0+7@0.0+9@1.0+8@1.1";

static int draw(const char *trace, const char *svg, const simdev_fault *f, int32_t whole)
{
  static zp_diff_case j;
  static zp_case c;
  static zp_error err;
  char why[ZP_DIFF_TEXT];
  const zp_schedule s = {.seed = 6,
                         .announce = 6,
                         .order = SIMDEV_LAZY,
                         .producers = 2,
                         .record = 1,
                         .faults = f,
                         .fault_count = f != NULL,
                         .waits_for_all = whole};
  int failed = 1;
  zp_case_init(&c);
  if (zp_case_parse(&c, text, why, sizeof why)) printf("%s\n", why);
  else if (zp_diff_case_open(&j, &c, &err)) printf("%s\n", err.text);
  else {
    const int found = zp_diff_run(j.diff, &s);
    printf("%s: %s\n", text, found ? zp_diff_finding(j.diff)->text : "nothing was found");
    failed = zp_diff_draw(j.diff, trace, svg, text, why, sizeof why);
    if (failed) printf("%s\n", why);
  }
  zp_diff_case_close(&j);
  return failed;
}

int main(int argc, char **argv)
{
  simdev_fault f = {.kind = SIMDEV_FAULT_DROP_SYNC};
  const int whole = argc == 4 && strcmp(argv[3], "whole") == 0;
  if (argc != 3 && argc != 5 && !whole) {
    fprintf(stderr, "usage: engine_timeline TRACE.json PICTURE.svg [RANK N | whole]\n");
    return 2;
  }
  if (argc == 5) {
    f.rank = atoi(argv[3]);
    f.n = atoi(argv[4]);
  }
  return draw(argv[1], argv[2], argc == 5 ? &f : NULL, whole);
}
