/* spec: STEP-10 */
#include "settings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "build_info.h"
#include "entry_list.h"

enum {
  SHOWN_BYTES = 200, /* of a value: a long path, and a hash where it is cut */
  VALUE_BYTES = 8192,
  LINE_BYTES = 320,
  RESERVE = 64,   /* at the end of the text, for the hash of what did not fit */
  DIFFERENCES = 8 /* that one message names */
};

static const char overflow_name[] = "hash of further settings=";
static const char list_name[] = "hash of the parameter list";
static const char names_name[] = "hash of the entries' names";
static const char bytes_name[] = "bytes of the parameter list";

/* A line that does not fit changes the hash at the end instead. */
static void append(zp_settings *s, const char *line)
{
  const size_t used = strlen(s->text), n = strlen(line);
  char *hash = strstr(s->text, overflow_name);
  uint64_t h;
  if (hash == NULL && used + n < ZP_SETTINGS_BYTES - RESERVE) {
    memcpy(s->text + used, line, n + 1);
    return;
  }
  if (hash == NULL) hash = s->text + used;
  h = XXH3_64bits_withSeed(line, n, XXH3_64bits(hash, strlen(hash)));
  snprintf(hash, RESERVE, "%s%016" PRIx64 "\n", overflow_name, h);
}

void zp_settings_add(zp_settings *s, const char *name, const char *format, ...)
{
  char value[VALUE_BYTES], line[LINE_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(value, sizeof value, format, args);
  va_end(args);
  const uint64_t hash = XXH3_64bits(value, strlen(value));
  for (char *c = value; *c != 0; c++)
    if (*c == '\n') *c = ' '; /* a line is a setting; the hash has the byte */
  if (strlen(value) <= SHOWN_BYTES) snprintf(line, sizeof line, "%s=%s\n", name, value);
  else
    snprintf(line, sizeof line, "%s=%.*s... (hash %016" PRIx64 ")\n", name, SHOWN_BYTES, value,
             hash);
  append(s, line);
}

void zp_settings_begin(zp_settings *s, const char *program)
{
  const zp_build_info b = zp_build();
  memset(s, 0, sizeof *s);
  zp_settings_add(s, "program", "%s", program);
  zp_settings_add(s, "zeroproof", "%s, commit %.12s", b.version, b.commit);
}

/* The shortest decimal number that is read as x. */
static void add_real(zp_settings *s, const char *name, double x)
{
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  zp_settings_add(s, name, "%s", text);
}

/* ---- What an engine depends on --------------------------------------------------------------- */

static uint64_t hash_entries(const zp_config *c)
{
  uint64_t h = 0;
  for (int32_t j = 0; j < c->n_params; j++) {
    const zp_param *p = &c->params[j];
    const int64_t x[8] = {p->numel,   p->stage,  p->optgroup, p->tied,
                          p->sharded, p->expert, p->frozen,   p->fp32};
    h = XXH3_64bits_withSeed(x, sizeof x, h);
  }
  return h;
}

void zp_settings_add_config(zp_settings *s, const zp_config *c, uint64_t names)
{
  const struct {
    const char *name;
    int64_t value;
  } number[] = {{"pp", c->pp},
                {"dp", c->dp},
                {"tp", c->tp},
                {"ep", c->ep},
                {"stage", c->stage},
                {"dynamic_shapes", c->dynamic_shapes},
                {"sequence_parallel", c->sequence_parallel},
                {"optgroups", c->optgroups},
                {"tied_keys", c->tied_keys},
                {"micro_batches", c->micro_batches},
                {"bucket", c->bucket},
                {"align", c->align},
                {"number of entries", c->n_params}};
  for (size_t i = 0; i < sizeof number / sizeof *number; i++)
    zp_settings_add(s, number[i].name, "%" PRId64, number[i].value);
  zp_settings_add(s, "reduce", "%s", c->reduce == ZP_EXACT ? "exact" : "ordered");
  zp_settings_add(s, "precision", "%s", zp_dtype_name(c->precision));
  zp_settings_add(s, list_name, "%016" PRIx64, hash_entries(c));
  zp_settings_add(s, names_name, "%016" PRIx64, names);
}

void zp_settings_add_hyper(zp_settings *s, const zp_hyper *h, int32_t precision)
{
  const zp_scaler *c = &h->scaler;
  char name[64];
  zp_settings_add(s, "optimizers", "%d", (int)h->groups);
  for (int32_t g = 0; g < h->groups; g++) {
    const zp_optim *p = &h->optim[g];
    char of[32] = "";
    if (h->groups > 1) snprintf(of, sizeof of, " of optimizer %d", (int)g);
    snprintf(name, sizeof name, "kind%s", of);
    zp_settings_add(s, name, "%s", p->kind == ZP_OPTIM_ADAMW ? "adamw" : "sgd");
    for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++) {
      snprintf(name, sizeof name, "%s%s", zp_optim_fields[i].name, of);
      add_real(s, name, zp_optim_value(p, &zp_optim_fields[i]));
    }
  }
  zp_settings_add(s, "replicas", "%d", (int)zp_replicas(h));
  zp_settings_add(s, "entry_align", "%d", (int)zp_entry_align(h->entry_align, precision));
  zp_settings_add(s, "slots", "%d", (int)h->slots);
  zp_settings_add(s, "fp32_gradients", "%d", (int)h->fp32_gradients);
  add_real(s, "clip", h->clip);
  add_real(s, "clip_eps", h->clip_eps);
  zp_settings_add(s, "loss scale", "2^%d, %s", (int)c->log2_scale,
                  c->dynamic ? "dynamic" : "static");
  zp_settings_add(s, "loss scale's rule", "2^%d to 2^%d, window %" PRId64 ", hysteresis %d%s",
                  (int)c->log2_min, (int)c->log2_max, c->window, (int)c->hysteresis,
                  c->consecutive ? ", consecutive" : "");
}

/* ---- Comparison ------------------------------------------------------------------------------ */

/* The next line of a text, without its end; moves on. 0 at the end. */
static int next_line(const char **at, char *line, size_t cap)
{
  const char *end = strchr(*at, '\n');
  if (end == NULL) return 0;
  snprintf(line, cap, "%.*s", (int)(end - *at), *at);
  *at = end + 1;
  return 1;
}

/* The value of a line, "" without one; cuts the line after its name. */
static const char *split(char *line)
{
  char *equals = strchr(line, '=');
  if (equals == NULL) return "";
  *equals = 0;
  return equals + 1;
}

static int are_settings(const zp_settings *s)
{
  return memchr(s->text, 0, sizeof s->text) != NULL && strncmp(s->text, "program=", 8) == 0;
}

void zp_settings_add_list(zp_settings *s, int64_t bytes)
{
  zp_settings_add(s, bytes_name, "%" PRId64, bytes);
}

int64_t zp_settings_list_bytes(const zp_settings *s)
{
  const char *at = are_settings(s) ? strstr(s->text, bytes_name) : NULL;
  return at ? strtoll(at + sizeof bytes_name, NULL, 10) : -1;
}

/* Does the line of a hash have nothing to add to the entries that are named? */
static int is_explained(const char *line, int32_t entries)
{
  return entries > 0 && (strncmp(line, list_name, sizeof list_name - 1) == 0 ||
                         strncmp(line, names_name, sizeof names_name - 1) == 0 ||
                         strncmp(line, bytes_name, sizeof bytes_name - 1) == 0);
}

int zp_settings_compare(const zp_settings *mine, const zp_settings *first, zp_settings_lists lists,
                        int32_t rank, zp_error *err)
{
  const char *a = mine->text, *b = first->text;
  char x[LINE_BYTES], y[LINE_BYTES];
  int32_t shown = 0, entries = 0;
  if (memcmp(mine, first, sizeof *mine) == 0) return ZP_OK;
  zp_fail(err, ZP_E_MISMATCH, rank, "rank %d has other settings than rank 0 (STEP-10)", (int)rank);
  if (!are_settings(first)) {
    zp_error_append(err, ": rank 0 runs another program, or another version of this one");
    return err->status;
  }
  if (lists.mine && lists.first)
    entries = zp_entry_list_differ(lists.mine, lists.first, DIFFERENCES, err);
  while (next_line(&a, x, sizeof x) && next_line(&b, y, sizeof y)) {
    if (strcmp(x, y) == 0 || is_explained(x, entries)) continue;
    if (shown == DIFFERENCES) zp_error_append(err, "\n  ... and others");
    if (shown++ == DIFFERENCES) break;
    const char *here = split(x), *there = split(y);
    zp_error_append(err, "\n  %s: %s here, %s on rank 0", x, here, there);
    if (strcmp(x, y) != 0) break; /* other names: another program */
    if (strcmp(x, "program") == 0) break;
  }
  zp_error_append(err, "\nStart every rank with the same program and the same settings.");
  return err->status;
}
