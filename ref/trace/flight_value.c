/* The values of a Flight Recorder dump: an array without owners, so that a value that is used many
 * times, or that contains itself, needs no recursion to free. */
#include <string.h>

#include "flight.h"

int32_t zp_flight_add(zp_flight_file *f, zp_flight_value v)
{
  if (f->n == ZP_FLIGHT_VALUES)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: it has more than %d values.", f->name,
                  (int)ZP_FLIGHT_VALUES);
  if (f->n == f->cap) {
    const int32_t cap = f->cap ? 2 * f->cap : 256;
    f->at = zp_trace_grow(f->failure, f->at, (size_t)f->cap, (size_t)cap, sizeof *f->at);
    f->cap = cap;
  }
  f->at[f->n] = v;
  return f->n++;
}

void zp_flight_append(zp_flight_file *f, int32_t list, int32_t item)
{
  zp_flight_value *v = &f->at[list];
  const int32_t depth = f->at[item].depth + 1;
  if (depth > ZP_FLIGHT_DEPTH)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: lists are nested more than %d deep.", f->name,
                  (int)ZP_FLIGHT_DEPTH);
  if (f->items++ == ZP_FLIGHT_ITEMS)
    zp_trace_fail(f->failure, ZP_E_REFUSED, "%s: its lists have more than %d items.", f->name,
                  (int)ZP_FLIGHT_ITEMS);
  if (v->n == v->cap) {
    const int32_t cap = v->cap ? 2 * v->cap : 4;
    v->item = zp_trace_grow(f->failure, v->item, (size_t)v->cap, (size_t)cap, sizeof *v->item);
    v->cap = cap;
  }
  v->item[v->n++] = item;
  if (depth > v->depth) v->depth = (uint8_t)depth;
}

void zp_flight_step(zp_flight_file *f, int32_t n)
{
  if (n > ZP_FLIGHT_STEPS - f->steps)
    zp_trace_fail(f->failure, ZP_E_REFUSED,
                  "%s: reading its entries takes more than %d steps (keys, items and letters): its "
                  "lists and dictionaries are used too many times.",
                  f->name, (int)ZP_FLIGHT_STEPS);
  f->steps += n;
}

const zp_flight_value *zp_flight_item(zp_flight_file *f, const zp_flight_value *list, int32_t i)
{
  zp_flight_step(f, 1);
  if (list->kind != ZP_FLIGHT_LIST || i < 0 || i >= list->n) return &f->at[ZP_FLIGHT_NONE];
  return &f->at[list->item[i]];
}

const zp_flight_value *zp_flight_get(zp_flight_file *f, const zp_flight_value *dict,
                                     const char *key)
{
  const size_t n = strlen(key);
  zp_flight_step(f, 1 + (dict->kind == ZP_FLIGHT_DICT ? dict->n / 2 : 0));
  if (dict->kind != ZP_FLIGHT_DICT) return &f->at[ZP_FLIGHT_NONE];
  for (int32_t i = dict->n - 2; i >= 0; i -= 2) { /* the last one of equal keys counts */
    const zp_flight_value *k = &f->at[dict->item[i]];
    if (k->kind == ZP_FLIGHT_TEXT && (size_t)k->n == n && memcmp(k->text, key, n) == 0)
      return &f->at[dict->item[i + 1]];
  }
  return &f->at[ZP_FLIGHT_NONE];
}

int64_t zp_flight_integer(const zp_flight_value *v, int64_t otherwise)
{
  int64_t n = 0;
  if (v->kind == ZP_FLIGHT_INTEGER) return v->integer;
  if (v->kind != ZP_FLIGHT_TEXT || v->n < 1 || v->n > 18) return otherwise;
  for (int32_t i = 0; i < v->n; i++) {
    if (v->text[i] < '0' || v->text[i] > '9') return otherwise;
    n = 10 * n + (v->text[i] - '0');
  }
  return n;
}

void zp_flight_text(zp_flight_file *f, const zp_flight_value *v, char *text, size_t cap)
{
  text[0] = 0;
  if (v->kind != ZP_FLIGHT_TEXT) return;
  zp_flight_step(f, v->n < (int32_t)cap ? v->n : (int32_t)cap);
  zp_trace_clean_text((const uint8_t *)v->text, v->n, text, cap);
}
