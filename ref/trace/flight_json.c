/* Flight Recorder dumps in JSON. */
#include <jansson.h>
#include <string.h>

#include "flight.h"

/* Counts the values and the depth before jansson allocates anything. Every value that jansson makes
 * up to its first error is counted here. */
static void scan(const zp_flight_file *f)
{
  int32_t values = 0, depth = 0;
  int in_word = 0; /* a number, true, false or null */
  for (int64_t i = 0; i < f->size; i++) {
    const char c = f->bytes[i];
    const int opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    const int ends =
        closes || c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (opens && depth++ > ZP_FLIGHT_DEPTH)
      zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: lists are nested more than %d deep.", f->name,
                    (int)ZP_FLIGHT_DEPTH);
    if (closes) depth--;
    if (!ends && !in_word && values++ == ZP_FLIGHT_VALUES)
      zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: it has more than %d values.", f->name,
                    (int)ZP_FLIGHT_VALUES);
    in_word = !ends && !opens && c != '"';
    if (c == '"')
      for (i++; i < f->size && f->bytes[i] != '"'; i++)
        if (f->bytes[i] == '\\') i++;
  }
}

static int32_t build(zp_flight_file *f, json_t *from);

static int32_t text_of(zp_flight_file *f, const char *text, size_t n)
{
  zp_flight_value v = {.kind = ZP_FLIGHT_TEXT, .n = (int32_t)n};
  v.text = text;
  return zp_flight_add(f, v);
}

static int32_t build_list(zp_flight_file *f, json_t *from)
{
  const int32_t list = zp_flight_add(f, (zp_flight_value){.kind = ZP_FLIGHT_LIST});
  size_t i;
  json_t *item;
  json_array_foreach(from, i, item) zp_flight_append(f, list, build(f, item));
  return list;
}

static int32_t build_dict(zp_flight_file *f, json_t *from)
{
  const int32_t dict = zp_flight_add(f, (zp_flight_value){.kind = ZP_FLIGHT_DICT});
  const char *key;
  json_t *item;
  json_object_foreach(from, key, item)
  {
    zp_flight_append(f, dict, text_of(f, key, strlen(key)));
    zp_flight_append(f, dict, build(f, item));
  }
  return dict;
}

static int32_t build(zp_flight_file *f, json_t *from)
{
  zp_flight_value v = {.kind = ZP_FLIGHT_NONE};
  switch (json_typeof(from)) {
  case JSON_OBJECT: return build_dict(f, from);
  case JSON_ARRAY: return build_list(f, from);
  case JSON_STRING: return text_of(f, json_string_value(from), json_string_length(from));
  case JSON_INTEGER:
    v.kind = ZP_FLIGHT_INTEGER;
    v.integer = json_integer_value(from);
    return zp_flight_add(f, v);
  case JSON_REAL:
    v.kind = ZP_FLIGHT_REAL;
    v.real = json_real_value(from);
    return zp_flight_add(f, v);
  case JSON_TRUE: return ZP_FLIGHT_TRUE;
  case JSON_FALSE: return ZP_FLIGHT_FALSE;
  default: return ZP_FLIGHT_NONE;
  }
}

void zp_flight_parse(zp_flight_file *f)
{
  json_error_t err;
  scan(f);
  f->json = json_loadb(f->bytes, (size_t)f->size, JSON_ALLOW_NUL, &err);
  if (f->json == NULL && err.text[0] == 0)
    zp_trace_fail(f->failure, ZP_E_MEMORY, "%s: no memory for its values.", f->name);
  if (f->json == NULL)
    zp_trace_fail(f->failure, ZP_E_REFUSED,
                  "%s: neither a pickle nor valid JSON (line %d: %s): not a Flight Recorder dump.",
                  f->name, err.line, err.text);
  f->root = build(f, f->json);
}
