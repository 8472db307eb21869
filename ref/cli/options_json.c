/* The configuration file. Everything in it is checked: unknown fields, wrong types and values out
 * of range are refused with the file, the field, the value and what is allowed. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verify/regular_file.h"
#include "options.h"

typedef struct reader {
  zp_options *o;
  char where[64]; /* "params[3]." or "" */
  int failed;
} reader;

static void complain(reader *r, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first complaint is printed; later ones would only follow from it. */
static void complain(reader *r, const char *field, const char *format, ...)
{
  va_list ap;
  if (r->failed) return;
  r->failed = 1;
  char *text = NULL;
  va_start(ap, format);
  const int n = vasprintf(&text, format, ap);
  va_end(ap);
  zp_cli_refuse(r->o->command, "%s: %s%s%s%s", r->o->config_file, r->where, field,
                *r->where || *field ? ": " : "", n < 0 ? "no memory" : text);
  if (n >= 0) free(text);
}

static const char *type_name(const json_t *v)
{
  static const char *const names[] = {"an object",     "a list", "a string", "an integer",
                                      "a real number", "true",   "false",    "null"};
  const unsigned t = (unsigned)json_typeof(v);
  return t < sizeof names / sizeof *names ? names[t] : "?";
}

/* Refuses members of object that are not among the space-separated `allowed`. */
static void only(reader *r, json_t *object, const char *allowed)
{
  const char *key;
  json_t *v;
  json_object_foreach(object, key, v)
  {
    const size_t n = strlen(key);
    const char *p = allowed;
    while (*p != 0) {
      const size_t w = strcspn(p, " ");
      if (w == n && strncmp(p, key, n) == 0) break;
      p += w;
      p += strspn(p, " ");
    }
    if (*p == 0 || n == 0) complain(r, key, "no such field; allowed are: %s.", allowed);
  }
}

static void read_integer(reader *r, const char *field, const json_t *v, int64_t lo, int64_t hi,
                         int64_t *out)
{
  int64_t x;
  if (v == NULL) return;
  if (json_is_string(v)) {
    if (zp_parse_count(json_string_value(v), &x) != 0) {
      complain(r, field,
               "\"%.60s\" is not a whole number; write %" PRId64 " to %" PRId64
               " (as a string it may end in Ki, Mi, Gi or Ti).",
               json_string_value(v), lo, hi);
      return;
    }
  } else if (json_is_integer(v)) {
    x = json_integer_value(v);
  } else {
    complain(r, field, "is %s; write a whole number from %" PRId64 " to %" PRId64 ".", type_name(v),
             lo, hi);
    return;
  }
  if (x < lo || x > hi)
    complain(r, field, "%" PRId64 " is out of range; allowed is %" PRId64 " to %" PRId64 ".", x, lo,
             hi);
  else *out = x;
}

static void read_bool(reader *r, const char *field, const json_t *v, int32_t *out)
{
  int64_t x = *out;
  if (v == NULL) return;
  if (json_is_boolean(v)) {
    *out = json_is_true(v);
  } else if (json_is_integer(v)) {
    read_integer(r, field, v, 0, 1, &x);
    *out = (int32_t)x;
  } else {
    complain(r, field, "is %s; write true or false.", type_name(v));
  }
}

static void read_real(reader *r, const char *field, const json_t *v, double lo, double hi,
                      double *out)
{
  if (v == NULL) return;
  if (!json_is_number(v))
    complain(r, field, "is %s; write a number from %.12g to %.12g.", type_name(v), lo, hi);
  else if (!(json_number_value(v) >= lo && json_number_value(v) <= hi))
    complain(r, field, "%.12g is out of range; allowed is %.12g to %.12g.", json_number_value(v),
             lo, hi);
  else *out = json_number_value(v);
}

/* The fields that are options too. */
static void read_fields(reader *r, json_t *root)
{
  zp_options *o = r->o;
  for (int32_t i = 0; i < ZP_OPTS && !r->failed; i++) {
    const char *name = zp_opt_name(i);
    const json_t *v = json_object_get(root, name);
    int64_t lo, hi, x = 0;
    int32_t flag = 0;
    if (v == NULL) continue;
    zp_opt_range(i, &lo, &hi);
    if (i == ZP_OPT_PRECISION || i == ZP_OPT_REDUCE) {
      if (!json_is_string(v) || zp_opt_word(i, json_string_value(v), &x) != 0)
        complain(r, name, "must be one of %s.",
                 i == ZP_OPT_REDUCE ? "\"ordered\", \"exact\"" : "\"fp32\", \"bf16\", \"fp16\"");
    } else if (i == ZP_OPT_DYNAMIC_SHAPES) {
      read_bool(r, name, v, &flag);
      x = flag;
    } else {
      read_integer(r, name, v, lo, hi, &x);
    }
    if (r->failed || o->by_flag[i]) continue;
    o->value[i] = x;
    o->by_file[i] = 1;
  }
}

static void read_groups(reader *r, const json_t *v)
{
  zp_options *o = r->o;
  const size_t n = json_array_size(v);
  if (v == NULL) return;
  if (!json_is_array(v) || n == 0 || n > (size_t)ZP_MAX_RANKS) {
    complain(r, "groups", "must be a list of one number per stage, as in [2, 1].");
    return;
  }
  if (o->groups_by_flag) return;
  o->groups = calloc(n, sizeof *o->groups);
  if (o->groups == NULL) {
    complain(r, "groups", "no memory.");
    return;
  }
  o->n_groups = (int32_t)n;
  for (size_t i = 0; i < n; i++) {
    int64_t k = 1;
    read_integer(r, "groups", json_array_get(v, i), 1, ZP_MAX_GROUPS, &k);
    o->groups[i] = (int32_t)k;
  }
}

/* "unused": [[dp index, micro-batch], …] and "unused_percent": what of an entry is not used. */
static void read_mask(reader *r, json_t *v, int32_t j)
{
  zp_options *o = r->o;
  json_t *list = json_object_get(v, "unused"), *percent = json_object_get(v, "unused_percent");
  const size_t n = json_array_size(list);
  int64_t x = 0;
  if ((list == NULL && percent == NULL) || r->failed) return;
  if (o->masks == NULL) {
    o->masks = calloc((size_t)o->n_params, sizeof *o->masks);
    for (int32_t i = 0; o->masks != NULL && i < o->n_params; i++) o->masks[i].unused = -1;
  }
  if (list != NULL && (!json_is_array(list) || n > 65536)) {
    complain(r, "unused", "must be a list of at most 65536 pairs [dp index, micro-batch].");
    return;
  }
  if (o->masks != NULL && n > 0) o->masks[j].skip = calloc(n, sizeof *o->masks[j].skip);
  if (o->masks == NULL || (n > 0 && o->masks[j].skip == NULL)) {
    complain(r, "unused", "no memory.");
    return;
  }
  if (percent != NULL) read_integer(r, "unused_percent", percent, 0, 99, &x);
  if (percent != NULL) o->masks[j].unused = (int32_t)(x * 256 / 100);
  for (size_t i = 0; i < n && !r->failed; i++) {
    const json_t *pair = json_array_get(list, i);
    zp_synth_skip *skip = &o->masks[j].skip[i];
    if (!json_is_array(pair) || json_array_size(pair) != 2) {
      complain(r, "unused", "item %zu is not a pair [dp index, micro-batch].", i);
      return;
    }
    read_integer(r, "unused", json_array_get(pair, 0), 0, ZP_MAX_RANKS - 1, &x);
    skip->dp = (int32_t)x;
    read_integer(r, "unused", json_array_get(pair, 1), 0, INT32_MAX, &skip->mb);
  }
  o->masks[j].n = (int32_t)n;
}

static void read_entry(reader *r, json_t *v, int32_t j)
{
  zp_options *o = r->o;
  zp_param *p = &o->params[j];
  const json_t *name, *tied;
  int64_t x;
  snprintf(r->where, sizeof r->where, "params[%d].", (int)j);
  if (!json_is_object(v)) {
    complain(r, "", "is %s; write an object such as {\"name\": \"w\", \"numel\": 100}.",
             type_name(v));
    return;
  }
  only(r, v, "name numel stage optgroup tied sharded expert frozen fp32 unused unused_percent");
  *p = (zp_param){.tied = -1};
  snprintf(o->names[j], ZP_NAME_BYTES, "p%d", (int)j);
  name = json_object_get(v, "name");
  if (name != NULL && (!json_is_string(name) || json_string_length(name) == 0 ||
                       json_string_length(name) >= ZP_NAME_BYTES))
    complain(r, "name", "must be a string of 1 to %d bytes.", ZP_NAME_BYTES - 1);
  else if (name != NULL) snprintf(o->names[j], ZP_NAME_BYTES, "%s", json_string_value(name));
  if (json_object_get(v, "numel") == NULL)
    complain(r, "numel", "is missing; every entry needs it.");
  read_integer(r, "numel", json_object_get(v, "numel"), 0, ZP_MAX_ELEMENTS, &p->numel);
  x = 0;
  read_integer(r, "stage", json_object_get(v, "stage"), 0, ZP_MAX_RANKS - 1, &x);
  p->stage = (int32_t)x;
  x = 0;
  read_integer(r, "optgroup", json_object_get(v, "optgroup"), 0, ZP_MAX_GROUPS - 1, &x);
  p->optgroup = (int32_t)x;
  x = -1;
  tied = json_object_get(v, "tied");
  if (tied != NULL && !json_is_null(tied)) read_integer(r, "tied", tied, -1, ZP_MAX_TIED - 1, &x);
  p->tied = (int32_t)x;
  read_bool(r, "sharded", json_object_get(v, "sharded"), &p->sharded);
  read_bool(r, "expert", json_object_get(v, "expert"), &p->expert);
  read_bool(r, "frozen", json_object_get(v, "frozen"), &p->frozen);
  read_bool(r, "fp32", json_object_get(v, "fp32"), &p->fp32);
  read_mask(r, v, j);
}

static void read_params(reader *r, const json_t *v)
{
  zp_options *o = r->o;
  const size_t n = json_array_size(v);
  if (v == NULL) return;
  if (!json_is_array(v) || n > (size_t)ZP_MAX_PARAMS) {
    complain(r, "params", "must be a list of 0 to %" PRId64 " entries.", ZP_MAX_PARAMS);
    return;
  }
  o->params = calloc(n, sizeof *o->params);
  o->names = calloc(n, sizeof *o->names);
  if (o->params == NULL || o->names == NULL) {
    complain(r, "params", "no memory for %zu entries.", n);
    return;
  }
  o->n_params = (int32_t)n;
  for (size_t j = 0; j < n && !r->failed; j++) read_entry(r, json_array_get(v, j), (int32_t)j);
  r->where[0] = 0;
}

static void read_optimizer(reader *r, json_t *list)
{
  zp_hyper *h = &r->o->hyper;
  const size_t n = json_array_size(list);
  if (list == NULL) return;
  if (!json_is_array(list) || n == 0 || n > ZP_HYPER_GROUPS) {
    complain(r, "optimizer", "must be a list of 1 to %d objects.", ZP_HYPER_GROUPS);
    return;
  }
  const double flag_lr = h->optim[0].lr;
  h->groups = (int32_t)n;
  for (size_t g = 0; g < n && !r->failed; g++) {
    json_t *v = json_array_get(list, g), *kind;
    zp_optim *p = &h->optim[g];
    snprintf(r->where, sizeof r->where, "optimizer[%zu].", g);
    if (!json_is_object(v)) {
      complain(r, "", "is %s; write an object such as {\"kind\": \"adamw\", \"lr\": 0.001}.",
               type_name(v));
      return;
    }
    only(r, v, "kind lr beta1 beta2 eps weight_decay momentum");
    *p = (zp_optim){ZP_OPTIM_ADAMW, 1e-3, 0.9, 0.999, 1e-8, 0.0, 0.0};
    kind = json_object_get(v, "kind");
    if (kind != NULL) {
      const char *word = json_is_string(kind) ? json_string_value(kind) : "";
      if (strcmp(word, "sgd") == 0) p->kind = ZP_OPTIM_SGD;
      else if (strcmp(word, "adamw") != 0) complain(r, "kind", "must be \"adamw\" or \"sgd\".");
    }
    for (int32_t i = 0; i < ZP_OPTIM_FIELDS; i++) {
      const zp_optim_field *f = &zp_optim_fields[i];
      double x = zp_optim_value(p, f);
      read_real(r, f->name, json_object_get(v, f->name), f->least, f->most, &x);
      memcpy((char *)p + f->offset, &x, sizeof x);
    }
    if (r->o->hyper_by_flag[ZP_HYPER_OPTIMIZER]) p->lr = flag_lr;
  }
  r->where[0] = 0;
  r->o->hyper_by_file[ZP_HYPER_OPTIMIZER] = 1;
}

static void read_power(reader *r, const char *field, const json_t *v, int64_t *log2_value)
{
  union {
    double f;
    uint64_t u;
  } bits;
  int32_t e = 0;
  if (v == NULL) return;
  bits.f = json_number_value(v);
  if (!json_is_number(v) || zp_scaler_from_f64(bits.u, &e) != 0)
    complain(r, field, "must be a power of two from 2^-126 to 2^126.");
  *log2_value = e;
}

static void read_scale(reader *r, json_t *v)
{
  zp_scaler scaler;
  int64_t init = 16, lo = 0, hi = 24, window = 1000, hysteresis = 1;
  int32_t consecutive = 0;
  const int dynamic = json_is_object(v);
  if (v == NULL) return;
  if (!dynamic && !json_is_number(v)) {
    complain(r, "loss_scale", "is %s; write a power of two, or an object for a dynamic scale.",
             type_name(v));
    return;
  }
  if (dynamic) {
    snprintf(r->where, sizeof r->where, "loss_scale.");
    only(r, v, "init min max window hysteresis consecutive");
    read_power(r, "init", json_object_get(v, "init"), &init);
    read_power(r, "min", json_object_get(v, "min"), &lo);
    read_power(r, "max", json_object_get(v, "max"), &hi);
    read_integer(r, "window", json_object_get(v, "window"), 1, INT64_MAX, &window);
    read_integer(r, "hysteresis", json_object_get(v, "hysteresis"), 1, 1 << 20, &hysteresis);
    read_bool(r, "consecutive", json_object_get(v, "consecutive"), &consecutive);
    r->where[0] = 0;
  } else {
    read_power(r, "loss_scale", v, &init);
    lo = hi = init;
  }
  if (r->failed) return;
  if (zp_scaler_init(&scaler, dynamic, (int32_t)init, (int32_t)lo, (int32_t)hi, window,
                     (int32_t)hysteresis, consecutive) != 0)
    complain(r, "loss_scale", "needs min <= init <= max.");
  else if (!r->o->hyper_by_flag[ZP_HYPER_SCALE]) r->o->hyper.scaler = scaler;
  r->o->hyper_by_file[ZP_HYPER_SCALE] = 1;
}

static void read_root(reader *r, json_t *root)
{
  zp_options *o = r->o;
  int64_t x = -1;
  double clip = o->hyper.clip;
  only(r, root,
       "pp dp tp ep replicas stage micro_batches bucket align entry_align slots precision reduce "
       "fp32_gradients dynamic_shapes steps seed groups optgroups tied_keys params optimizer clip "
       "clip_eps loss_scale");
  read_fields(r, root);
  read_groups(r, json_object_get(root, "groups"));
  read_integer(r, "optgroups", json_object_get(root, "optgroups"), 1, ZP_MAX_GROUPS, &x);
  o->optgroups = (int32_t)x;
  x = -1;
  read_integer(r, "tied_keys", json_object_get(root, "tied_keys"), 0, ZP_MAX_TIED, &x);
  o->tied_keys = (int32_t)x;
  read_params(r, json_object_get(root, "params"));
  read_optimizer(r, json_object_get(root, "optimizer"));
  read_real(r, "clip", json_object_get(root, "clip"), 0, ZP_CLIP_MOST, &clip);
  if (!o->hyper_by_flag[ZP_HYPER_CLIP]) o->hyper.clip = clip;
  o->hyper_by_file[ZP_HYPER_CLIP] = json_object_get(root, "clip") != NULL;
  read_real(r, "clip_eps", json_object_get(root, "clip_eps"), 0, ZP_CLIP_MOST, &o->hyper.clip_eps);
  o->hyper_by_file[ZP_HYPER_CLIP_EPS] = json_object_get(root, "clip_eps") != NULL;
  read_scale(r, json_object_get(root, "loss_scale"));
}

static int read_file(zp_options *o)
{
  reader r = {.o = o};
  json_error_t why;
  int regular;
  FILE *f = zp_open_regular(o->config_file, &regular);
  json_t *root;
  if (!regular)
    return zp_cli_refuse(o->command,
                         "%s: not a regular file; write the configuration to one. (Pipes, "
                         "/dev/stdin and <(…) are refused, too.)",
                         o->config_file);
  if (f == NULL)
    return zp_cli_refuse(o->command, "%s: %m. Name a readable JSON file.", o->config_file);
  root = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
  fclose(f);
  if (root == NULL)
    return zp_cli_refuse(o->command, "%s: line %d, column %d: not JSON: %s.", o->config_file,
                         why.line, why.column, why.text);
  if (json_is_object(root)) read_root(&r, root);
  else complain(&r, "", "the file is %s; write an object {…}.", type_name(root));
  json_decref(root);
  return r.failed ? ZP_EXIT_REFUSED : 0;
}

int zp_options_finish(zp_options *o)
{
  return o->config_file == NULL ? 0 : read_file(o);
}
