/* The manifest: what was saved, as JSON that carries its own checksum. spec: CKPT-1, CKPT-4 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint_format.h"

/* The text begins with this and 32 hexadecimal digits: its checksum, taken with zeros there. */
#define HEAD "{\"xxh3_128\": \""
enum { HEAD_BYTES = sizeof HEAD - 1, HEX_BYTES = ZP_CKPT_HEX - 1 };

/* ---- Writing --------------------------------------------------------------------------------- */

const char *zp_ckpt_name(const zp_ckpt_model *model, int32_t j, char buffer[ZP_CKPT_NAME])
{
  if (model->names) return model->names[j];
  snprintf(buffer, ZP_CKPT_NAME, "p%d", j);
  return buffer;
}

int32_t zp_ckpt_home(const zp_config *cfg, int32_t j)
{
  const int32_t key = cfg->params[j].tied;
  for (int32_t i = 0; key >= 0 && i < j; i++)
    if (cfg->params[i].tied == key) return i;
  return j;
}

/* A double that survives being text. */
static json_t *hex_float(double x)
{
  return json_sprintf("%a", x);
}

json_t *zp_ckpt_state_json(const zp_train_state *s)
{
  const zp_scaler *c = &s->scaler;
  json_t *optim = json_array();
  for (int32_t g = 0; g < s->groups; g++)
    json_array_append_new(optim, json_pack("{s:o, s:o, s:I}", "beta1_pow",
                                           hex_float(s->optim[g].beta1_pow), "beta2_pow",
                                           hex_float(s->optim[g].beta2_pow), "t",
                                           (json_int_t)s->optim[g].t));
  return json_pack(
      "{s:I, s:{s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:I, s:I, s:i}, s:o}", "step",
      (json_int_t)s->step, "scaler", "dynamic", c->dynamic, "log2_scale", c->log2_scale, "log2_min",
      c->log2_min, "log2_max", c->log2_max, "window", (json_int_t)c->window, "hysteresis",
      c->hysteresis, "consecutive", c->consecutive, "iter", (json_int_t)c->iter, "last_overflow",
      (json_int_t)c->last_overflow, "hysteresis_left", c->hysteresis_left, "optim", optim);
}

static json_t *entries_json(const zp_ckpt_model *model)
{
  const zp_config *cfg = model->cfg;
  json_t *list = json_array();
  char buffer[ZP_CKPT_NAME];
  for (int32_t j = 0; list && j < cfg->n_params; j++) {
    const zp_param *p = &cfg->params[j];
    json_t *e = json_pack(
        "{s:s, s:I, s:b, s:b, s:b, s:i, s:i, s:i}", "name", zp_ckpt_name(model, j, buffer), "numel",
        (json_int_t)p->numel, "sharded", p->sharded, "expert", p->expert, "frozen", p->frozen, "tp",
        p->sharded ? cfg->tp : 1, "ep", p->expert ? cfg->ep : 1, "home", zp_ckpt_home(cfg, j));
    if (json_array_append_new(list, e)) {
      json_decref(list);
      return NULL;
    }
  }
  return list;
}

char *zp_ckpt_manifest_text(const zp_ckpt_model *model, json_t *state, const char *workload,
                            json_t *files, char checksum[ZP_CKPT_HEX])
{
  char *body = NULL, *text = NULL;
  json_t *doc = json_pack("{s:s, s:i, s:O, s:o, s:s, s:O}", "format", "zeroproof-checkpoint",
                          "version", ZP_CKPT_VERSION, "state", state, "entries",
                          entries_json(model), "workload", workload, "files", files);
  if (doc) body = json_dumps(doc, JSON_INDENT(1));
  json_decref(doc);
  if (!body) return NULL;
  if (asprintf(&text, HEAD "%0*d\",%s\n", HEX_BYTES, 0, body + 1) < 0) text = NULL;
  free(body);
  if (!text) return NULL;
  zp_ckpt_hash(text, strlen(text), checksum);
  memcpy(text + HEAD_BYTES, checksum, HEX_BYTES);
  return text;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Integer member `name` of an object, lo <= value <= hi; else *bad. */
static int64_t integer(const json_t *o, const char *name, int64_t lo, int64_t hi, int *bad)
{
  const json_t *v = json_object_get(o, name);
  const int64_t x = json_is_integer(v) ? (int64_t)json_integer_value(v) : lo;
  if (!json_is_integer(v) || x < lo || x > hi) *bad = 1;
  return x < lo || x > hi ? lo : x;
}

static int32_t boolean(const json_t *o, const char *name, int *bad)
{
  const json_t *v = json_object_get(o, name);
  if (!json_is_boolean(v)) *bad = 1;
  return json_is_true(v);
}

static double real(const json_t *o, const char *name, int *bad)
{
  const char *text = json_string_value(json_object_get(o, name));
  char *end = NULL;
  const double x = text ? strtod(text, &end) : 0;
  if (!text || end == text || *end != 0 || !isfinite(x)) *bad = 1;
  return x;
}

static void parse_scaler(const json_t *o, zp_scaler *c, int *bad)
{
  const int64_t most = (int64_t)1 << 62;
  c->dynamic = (int32_t)integer(o, "dynamic", 0, 1, bad);
  c->log2_min = (int32_t)integer(o, "log2_min", -ZP_LOG2_SCALE_MAX, ZP_LOG2_SCALE_MAX, bad);
  c->log2_max = (int32_t)integer(o, "log2_max", c->log2_min, ZP_LOG2_SCALE_MAX, bad);
  c->log2_scale = (int32_t)integer(o, "log2_scale", c->log2_min, c->log2_max, bad);
  c->window = integer(o, "window", 1, most, bad);
  c->hysteresis = (int32_t)integer(o, "hysteresis", 1, INT32_MAX, bad);
  c->consecutive = (int32_t)integer(o, "consecutive", 0, 1, bad);
  c->iter = integer(o, "iter", 0, most, bad);
  c->last_overflow = integer(o, "last_overflow", -1, c->iter - 1, bad);
  c->hysteresis_left = (int32_t)integer(o, "hysteresis_left", 1, c->hysteresis, bad);
}

static int parse_state(const json_t *state, zp_train_state *out)
{
  const json_t *optim = json_object_get(state, "optim");
  const size_t n = json_array_size(optim);
  int bad = !json_is_array(optim) || n > (size_t)ZP_MAX_GROUPS;
  memset(out, 0, sizeof *out);
  out->step = integer(state, "step", 0, (int64_t)1 << 62, &bad);
  parse_scaler(json_object_get(state, "scaler"), &out->scaler, &bad);
  if (bad) return -1;
  out->optim = calloc(n + 1, sizeof *out->optim);
  if (!out->optim) return -1;
  out->groups = (int32_t)n;
  for (size_t g = 0; g < n; g++) {
    const json_t *o = json_array_get(optim, g);
    out->optim[g].beta1_pow = real(o, "beta1_pow", &bad);
    out->optim[g].beta2_pow = real(o, "beta2_pow", &bad);
    out->optim[g].t = integer(o, "t", 0, (int64_t)1 << 62, &bad);
  }
  if (!bad) return 0;
  free(out->optim);
  out->optim = NULL;
  return -1;
}

static int parse_entries(const json_t *list, zp_ckpt_manifest *m)
{
  const size_t n = json_array_size(list);
  int bad = !json_is_array(list) || n > (size_t)ZP_MAX_PARAMS;
  if (bad) return -1;
  m->entry = calloc(n + 1, sizeof *m->entry);
  if (!m->entry) return -1;
  m->n_entries = (int32_t)n;
  for (size_t j = 0; j < n && !bad; j++) {
    const json_t *o = json_array_get(list, j);
    zp_ckpt_entry *e = &m->entry[j];
    e->name = json_string_value(json_object_get(o, "name"));
    e->numel = integer(o, "numel", 0, ZP_MAX_ELEMENTS, &bad);
    e->sharded = boolean(o, "sharded", &bad);
    e->expert = boolean(o, "expert", &bad);
    e->frozen = boolean(o, "frozen", &bad);
    e->tp = (int32_t)integer(o, "tp", 1, e->sharded ? ZP_MAX_RANKS : 1, &bad);
    e->ep = (int32_t)integer(o, "ep", 1, e->expert ? ZP_MAX_RANKS : 1, &bad);
    e->home = (int32_t)integer(o, "home", 0, (int64_t)j, &bad);
    bad |= !e->name || strlen(e->name) >= ZP_CKPT_NAME;
    const zp_ckpt_entry *h = &m->entry[e->home];
    bad |= h->home != e->home || h->numel != e->numel || h->frozen != e->frozen || h->tp != e->tp ||
           h->ep != e->ep;
  }
  return bad ? -1 : 0;
}

static int parse_files(const json_t *list, zp_ckpt_manifest *m)
{
  const size_t n = json_array_size(list);
  int bad = !json_is_array(list) || n > (size_t)ZP_MAX_RANKS;
  if (bad) return -1;
  m->file = calloc(n + 1, sizeof *m->file);
  if (!m->file) return -1;
  m->n_files = (int32_t)n;
  for (size_t i = 0; i < n && !bad; i++) {
    const json_t *o = json_array_get(list, i);
    zp_ckpt_file *f = &m->file[i];
    f->name = json_string_value(json_object_get(o, "name"));
    f->checksum = json_string_value(json_object_get(o, "xxh3_128"));
    f->bytes = integer(o, "bytes", ZP_CKPT_HEAD, INT64_MAX, &bad);
    bad |= !f->name || !f->checksum || strlen(f->checksum) != HEX_BYTES ||
           !zp_ckpt_numbered(f->name, "rank-", ".bin"); /* no name leads out of the folder */
  }
  return bad ? -1 : 0;
}

/* 0 when the text's checksum, which becomes m->checksum, is right. */
static int check_text(char *text, int64_t n, zp_ckpt_manifest *m)
{
  char right[ZP_CKPT_HEX];
  if (n < HEAD_BYTES + HEX_BYTES || memcmp(text, HEAD, HEAD_BYTES) != 0) return -1;
  memcpy(m->checksum, text + HEAD_BYTES, HEX_BYTES);
  memset(text + HEAD_BYTES, '0', HEX_BYTES);
  zp_ckpt_hash(text, (size_t)n, right);
  return memcmp(right, m->checksum, HEX_BYTES) == 0 ? 0 : -1;
}

static int parse_document(const char *path, zp_ckpt_manifest *m, zp_error *err)
{
  const char *format = json_string_value(json_object_get(m->doc, "format"));
  const json_t *version = json_object_get(m->doc, "version");
  if (!format || strcmp(format, "zeroproof-checkpoint") != 0 || !json_is_integer(version))
    return zp_fail(err, ZP_E_FILE, -1, "%s is not a manifest of a zeroproof checkpoint", path);
  if (json_integer_value(version) != ZP_CKPT_VERSION)
    return zp_fail(err, ZP_E_FILE, -1, "%s has version %lld; this zeroproof reads version %d", path,
                   (long long)json_integer_value(version), ZP_CKPT_VERSION);
  m->workload = json_string_value(json_object_get(m->doc, "workload"));
  if (!m->workload || parse_state(json_object_get(m->doc, "state"), &m->state) ||
      parse_entries(json_object_get(m->doc, "entries"), m) ||
      parse_files(json_object_get(m->doc, "files"), m))
    return zp_fail(err, ZP_E_FILE, -1,
                   "%s has a field that is missing or out of range, although its checksum is "
                   "right: it was not written by this program (CKPT-4)",
                   path);
  return 0;
}

int zp_ckpt_manifest_read(const zp_ckpt_dir *folder, zp_ckpt_manifest *m, zp_error *err)
{
  char path[ZP_CKPT_PATH];
  int64_t n = 0;
  json_error_t why;
  int status = zp_ckpt_path(path, folder->path, "manifest.json", err);
  memset(m, 0, sizeof *m);
  if (status) return status;
  char *text = zp_ckpt_read_file(folder, "manifest.json", ZP_CKPT_TEXT_MAX, &n, err);
  if (!text) return err->status;
  if (check_text(text, n, m))
    status = zp_fail(err, ZP_E_FILE, -1,
                     "%s is damaged, truncated or not zeroproof's: its checksum is wrong; restore "
                     "it from a copy or load another checkpoint (CKPT-4)",
                     path);
  else if (!(m->doc = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &why)))
    status = zp_fail(err, ZP_E_FILE, -1, "%s, line %d: %s", path, why.line, why.text);
  else status = parse_document(path, m, err);
  free(text);
  if (status) zp_ckpt_manifest_free(m);
  return status;
}

void zp_ckpt_manifest_free(zp_ckpt_manifest *m)
{
  json_decref(m->doc);
  free(m->state.optim);
  free(m->entry);
  free(m->file);
  memset(m, 0, sizeof *m);
}
