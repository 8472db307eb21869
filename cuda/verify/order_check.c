/* The happens-before check of a run, and its timeline. spec: STEP-2, PIPE-5 */
#include <stdio.h>
#include <string.h>

#include "../happens_before/timeline.h"
#include "state.h"

zp_hb_case zp_diff_order_case(const zp_diff *t)
{
  return (zp_hb_case){.cfg = &t->sized,
                      .own = t->cfg->params,
                      .replicas = zp_replicas(t->hyper),
                      .steps = t->steps,
                      .slots = t->hyper->slots,
                      .native = t->now.native,
                      .fp32_gradients = t->hyper->fp32_gradients,
                      .early_bytes = zp_diff_early_bytes(t),
                      .launch_order = !t->chained,
                      .log = t->log,
                      .get = t->get,
                      .rest = 1,
                      .offload = t->now.offload,
                      .gradual = t->now.gradual,
                      .partial = zp_diff_is_partial(t),
                      .sets = (int32_t)t->cfg->micro_batches};
}

int zp_diff_compare_order(zp_diff *t)
{
  const zp_hb_case c = zp_diff_order_case(t);
  zp_hb_report o;
  if (!zp_hb_check(&c, t->simulation.now, &o)) return 0;
  return zp_diff_fail(t, o.missing ? "race" : o.redundant ? "wait" : "path", "%s", o.text);
}

int zp_diff_draw(const zp_diff *t, const char *trace, const char *svg, const char *title,
                 char *text, int64_t cap)
{
  const zp_hb_case c = zp_diff_order_case(t);
  const zp_timeline_options o = {trace, svg, title, t->found.kind[0] ? t->found.text : NULL};
  return zp_timeline_write(&c, t->simulation.now, &o, text, cap);
}
