/* What a run ordered, beside what the plan demands; and its timeline. spec: STEP-2, PIPE-5 */
#include <stdio.h>
#include <string.h>

#include "../path/timeline.h"
#include "trial_internal.h"

zp_path_case zp_trial_path(const zp_trial *t)
{
  return (zp_path_case){.cfg = t->cfg,
                        .steps = t->steps,
                        .native = t->now.native,
                        .launch_order = !t->chained,
                        .log = t->log,
                        .get = t->get,
                        .rest = 1,
                        .sets = (int32_t)t->cfg->micro_batches};
}

int zp_trial_same_path(zp_trial *t)
{
  const zp_path_case c = zp_trial_path(t);
  zp_path_report o;
  if (!zp_path_check(&c, t->sim, &o)) return 0;
  return zp_trial_differs(t, o.missing ? "race" : o.superfluous ? "wait" : "path", "%s", o.text);
}

int zp_trial_draw(const zp_trial *t, const char *trace, const char *svg, const char *title,
                  char *text, int64_t cap)
{
  const zp_path_case c = zp_trial_path(t);
  const zp_timeline_options o = {trace, svg, title, t->found.kind[0] ? t->found.text : NULL};
  return zp_timeline_write(&c, t->sim, &o, text, cap);
}
