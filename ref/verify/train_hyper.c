#include "train_hyper.h"

#include <stdlib.h>
#include <string.h>

#include "../engine/engine_parts.h"

zp_hyper zp_train_hyper_at(const zp_train_hyper *h, int64_t step)
{
  zp_hyper now;
  zp_lr_schedule_hyper(&h->schedule, &h->peak, step, &now);
  return now;
}

int zp_train_hyper_save(const zp_train_hyper *h, int64_t step, json_t *root)
{
  const zp_hyper now = zp_train_hyper_at(h, step);
  char *words = zp_engine_hyper_text(&now, 0), text[ZP_LR_TEXT];
  json_t *hyper = words != NULL ? json_loads(words, 0, NULL) : NULL, *peak = json_array();
  int bad = hyper == NULL || json_object_update(root, hyper) != 0;
  for (int32_t g = 0; g < h->peak.groups; g++)
    bad |= json_array_append_new(peak, json_sprintf("%a", h->peak.optim[g].lr)) != 0;
  bad |= json_object_set_new(root, "schedule",
                             json_pack("{s:s, s:o}", "text",
                                       zp_lr_schedule_text(&h->schedule, text), "peak", peak)) != 0;
  json_decref(hyper);
  free(words);
  return bad ? -1 : 0;
}

/* The schedule and the peak rates of `saved`. 0, or -1: a member is wrong. */
static int read_schedule(const json_t *saved, zp_train_hyper *h, zp_error *why)
{
  const char *text = json_string_value(json_object_get(saved, "text"));
  const json_t *peak = json_object_get(saved, "peak");
  if (text == NULL || zp_lr_schedule_parse(text, &h->schedule, why) != 0) return -1;
  if (json_array_size(peak) != (size_t)h->peak.groups) return -1;
  for (int32_t g = 0; g < h->peak.groups; g++) {
    const char *rate = json_string_value(json_array_get(peak, (size_t)g));
    char *end = NULL;
    h->peak.optim[g].lr = rate != NULL ? strtod(rate, &end) : 0;
    if (rate == NULL || end == rate || *end != 0) return -1;
  }
  return zp_hyper_check(&h->peak, -1, why);
}

int zp_train_hyper_restore(zp_train_hyper *h, const char *workload, zp_error *err)
{
  const zp_train_hyper was = *h;
  zp_train_hyper now = was;
  zp_error why = {0};
  json_t *doc = workload != NULL ? json_loads(workload, 0, NULL) : NULL;
  const json_t *schedule = json_object_get(doc, "schedule");
  const int saved = json_object_get(doc, "hyper") != NULL;
  int bad = saved && zp_engine_hyper_read(workload, -1, 1, &now.peak, err) != 0;
  if (saved && !bad && (schedule == NULL || read_schedule(schedule, &now, &why) != 0))
    bad = zp_fail(err, ZP_E_FILE, -1,
                  "the manifest's schedule of learning rates is missing or damaged%s%s (CKPT-4)",
                  why.status != 0 ? ": " : "", why.status != 0 ? why.text : "");
  json_decref(doc);
  if (bad) return err->status;
  if (!saved) return 0;
  h->peak = now.peak;
  h->schedule = now.schedule;
  if (h->set & ZP_SET_OPTIMIZERS) {
    memcpy(h->peak.optim, was.peak.optim, sizeof h->peak.optim);
    h->peak.groups = was.peak.groups;
  }
  for (int32_t g = 0; g < h->peak.groups && (h->set & ZP_SET_LR); g++)
    h->peak.optim[g].lr = was.peak.optim[0].lr;
  if (h->set & ZP_SET_CLIP) h->peak.clip = was.peak.clip;
  if (h->set & ZP_SET_CLIP_EPS) h->peak.clip_eps = was.peak.clip_eps;
  if (h->set & ZP_SET_SCHEDULE) h->schedule = was.schedule;
  return 0;
}
