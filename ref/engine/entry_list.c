/* spec: STEP-10 */
#define _GNU_SOURCE
#include "entry_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of a line; the name is last, as it may have spaces. */
static const char *const field_names[] = {"numel",  "stage",  "optgroup", "tied", "sharded",
                                          "expert", "frozen", "fp32",     "name"};
enum {
  FIELDS = sizeof field_names / sizeof *field_names,
  LINE_BYTES = 256, /* of numbers at most 21 + 7 * 12, and a name */
  NAME_BYTES = 64
};

char *zp_entry_list_text(const zp_config *c, const char *const *names)
{
  char *text = malloc(ZP_ENTRY_LIST_BYTES);
  size_t used = 0;
  if (!text) return NULL;
  text[0] = 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    char line[LINE_BYTES], called[NAME_BYTES];
    if (names) snprintf(called, sizeof called, "%s", names[j]);
    else snprintf(called, sizeof called, "p%d", (int)j);
    for (char *at = called; *at != 0; at++)
      if (*at == '\n') *at = ' ';
    const int n = snprintf(line, sizeof line, "%" PRId64 " %d %d %d %d %d %d %d %s\n", p->numel,
                           (int)p->stage, (int)p->optgroup, (int)p->tied, (int)p->sharded,
                           (int)p->expert, (int)p->frozen, (int)p->fp32, called);
    if (used + (size_t)n >= ZP_ENTRY_LIST_BYTES) break;
    memcpy(text + used, line, (size_t)n + 1);
    used += (size_t)n;
  }
  return text;
}

/* Cuts the next line into its fields; moves on. 0 at the end. */
static int next_entry(const char **at, char *line, const char *field[FIELDS])
{
  const char *end = strchr(*at, '\n');
  char *rest = line;
  if (end == NULL) return 0;
  snprintf(line, LINE_BYTES, "%.*s", (int)(end - *at), *at);
  *at = end + 1;
  for (int i = 0; i < FIELDS - 1; i++) {
    const char *word = strsep(&rest, " ");
    field[i] = word ? word : "";
  }
  field[FIELDS - 1] = rest ? rest : "";
  return 1;
}

int32_t zp_entry_list_differ(const char *mine, const char *first, int32_t most, zp_error *err)
{
  char a[LINE_BYTES], b[LINE_BYTES];
  const char *x[FIELDS], *y[FIELDS];
  int32_t shown = 0;
  for (int32_t j = 0; shown <= most; j++) {
    const int here = next_entry(&mine, a, x), there = next_entry(&first, b, y);
    if (!here && !there) return shown;
    if (here != there) {
      zp_error_append(err, "\n  entry %d (%s) and later ones: only %s", (int)j,
                      (here ? x : y)[FIELDS - 1], here ? "here" : "on rank 0");
      return shown + 1;
    }
    for (int i = 0; i < FIELDS && shown <= most; i++) {
      if (strcmp(x[i], y[i]) == 0) continue;
      if (shown++ == most) zp_error_append(err, "\n  ... and others");
      else
        zp_error_append(err, "\n  %s of entry %d (%s): %s here, %s on rank 0", field_names[i],
                        (int)j, x[FIELDS - 1], x[i], y[i]);
    }
  }
  return shown;
}
