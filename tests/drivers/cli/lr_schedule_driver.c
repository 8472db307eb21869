/* Reads lines "SCHEDULE PEAK STEP" (PEAK as in C's %a), prints the rate of each as %a. */
#include <stdio.h>
#include <stdlib.h>

#include "../../../ref/engine/lr_schedule.h"

int main(void)
{
  char text[ZP_LR_TEXT + 1], again[ZP_LR_TEXT], peak[40];
  long long step;
  while (scanf("%80s %39s %lld", text, peak, &step) == 3) {
    zp_lr_schedule s;
    zp_error err = {0};
    if (zp_lr_schedule_parse(text, &s, &err) != 0) {
      printf("refused: %s\n", err.text);
      continue;
    }
    if (zp_lr_schedule_parse(zp_lr_schedule_text(&s, again), &s, &err) != 0) return 1;
    printf("%a\n", zp_lr_schedule_rate(&s, strtod(peak, NULL), step));
  }
  return 0;
}
