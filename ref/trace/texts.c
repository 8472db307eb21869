/* Extensions of the format (conformance/TRACE.md), and the texts that a file declares: phases, call
 * sites and labels of groups. Memory is proportional to the texts in the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

/* A damaged file must not take more memory than this for its texts. */
enum { TEXTS = 1 << 16, CHARACTERS = 1 << 24 };

void zp_trace_clean_text(const uint8_t *raw, int64_t n, char *text, size_t cap)
{
  size_t k = 0;
  for (int64_t i = 0; i < n && k + 1 < cap; i++) {
    const uint8_t b = raw[i];
    text[k++] = b >= 32 && b < 127 && b != '"' && b != '\\' ? (char)b : '?';
  }
  text[k] = 0;
}

/* Grows the table to more than `number` elements. */
static void grow_table(zp_trace_reader *r, zp_trace_texts *of, int32_t number)
{
  if (number >= of->cap) {
    const int32_t cap = of->cap ? 2 * of->cap : 8;
    of->at = zp_trace_grow(r->failure, of->at, (size_t)of->cap, (size_t)cap, sizeof *of->at);
    of->cap = cap;
  }
  if (number >= of->n) of->n = number + 1;
}

void zp_trace_keep_text(zp_trace_reader *r, zp_trace_texts *of, int64_t number, const char *text)
{
  const int64_t size = (int64_t)strlen(text) + 1;
  if (number > of->n + 1 || number >= TEXTS || r->text_n + size > CHARACTERS) return;
  grow_table(r, of, (int32_t)number);
  if (r->text_n + size > r->text_cap) {
    int64_t cap = r->text_cap ? 2 * r->text_cap : 256;
    while (cap < r->text_n + size) cap *= 2;
    r->text = zp_trace_grow(r->failure, r->text, (size_t)r->text_cap, (size_t)cap, 1);
    r->text_cap = cap;
  }
  memcpy(r->text + r->text_n, text, (size_t)size);
  of->at[number] = r->text_n + 1;
  r->text_n += size;
}

const char *zp_trace_text(const zp_trace_reader *r, const zp_trace_texts *of, int32_t number)
{
  if (number < 0 || number >= of->n || of->at[number] == 0) return "";
  return r->text + of->at[number] - 1;
}

typedef struct body {
  const uint8_t *at, *end;
} body;

/* Reads a LEB128 number of a body, or returns -2. */
static int64_t number(body *b)
{
  uint64_t v = 0;
  for (int shift = 0; shift < 63 && b->at < b->end; shift += 7) {
    const uint8_t x = *b->at++;
    v |= (uint64_t)(x & 127) << shift;
    if (x < 128) return (int64_t)v;
  }
  return -2;
}

/* The status that the C library wrote when the process ended. */
static int64_t read_status(zp_trace_reader *r, const body *b)
{
  if (b->at == b->end) return -2;
  r->exit.how = *b->at != 0 ? ZP_TRACE_STATUS : ZP_TRACE_NO_EXIT;
  r->exit.status = *b->at;
  if (*b->at == 0) r->state = ZP_TRACE_ENDED;
  return 0;
}

/* how, status, and the type of the exception */
static int64_t read_exit(zp_trace_reader *r, body *b)
{
  const int64_t how = number(b);
  if (how == ZP_TRACE_BYTE) return read_status(r, b);
  const int64_t status = number(b);
  if (how < 0 || status < 0 || status > 255) return -2;
  if (how < 1 || how >= ZP_TRACE_ENDINGS) return 0;
  r->exit.how = (zp_trace_ending)how;
  r->exit.status = (int32_t)status;
  zp_trace_clean_text(b->at, b->end - b->at, r->exit.reason, sizeof r->exit.reason);
  return 0;
}

/* step+1, and the type of the error. Values end once. */
static int64_t read_end_of_values(zp_trace_reader *r, body *b)
{
  const int64_t step = number(b);
  if (step < 0) return -2;
  if (r->values_end[0]) return 0;
  strcpy(r->values_end, "?");
  if (b->at < b->end)
    zp_trace_clean_text(b->at, b->end - b->at, r->values_end, sizeof r->values_end);
  r->value = (zp_trace_value){.kind = ZP_TRACE_VALUES_END, .step = step - 1};
  return 0;
}

const char *zp_trace_exit_text(const zp_trace_exit *e, char *text, size_t cap)
{
  if (e->how == ZP_TRACE_STATUS) snprintf(text, cap, "exit status %d", (int)e->status);
  else if (e->how == ZP_TRACE_UNKNOWN) snprintf(text, cap, "an exit status that is not known");
  else
    snprintf(text, cap, "an exception%s%s%s, exit status %d", e->reason[0] ? " (" : "", e->reason,
             e->reason[0] ? ")" : "", (int)e->status);
  return text;
}

int64_t zp_trace_read_extension(zp_trace_reader *r, int64_t kind, const uint8_t *raw, int64_t n)
{
  body b = {raw, raw + (n < ZP_TRACE_BODY ? n : ZP_TRACE_BODY)};
  char text[ZP_TRACE_NAME];
  if (kind == ZP_TRACE_EXIT) return read_exit(r, &b);
  if (kind == ZP_TRACE_RETURN) {
    r->returned = number(&b);
    return r->returned < 0 ? -2 : 0;
  }
  if (kind == ZP_TRACE_VALUE_OF_OP || kind == ZP_TRACE_VALUE_OF_TENSOR)
    return zp_trace_read_value(r, kind, raw, n);
  if (kind == ZP_TRACE_VALUES_ON) r->values_on = 1;
  if (kind == ZP_TRACE_VALUES_END) return read_end_of_values(r, &b);
  if (kind == ZP_TRACE_LOCKED) zp_trace_clean_text(b.at, b.end - b.at, r->locked, sizeof r->locked);
  if (kind < ZP_TRACE_SITE || kind > ZP_TRACE_TENSOR) return 0;
  const int64_t id = number(&b);
  if (id < 0 || id > INT32_MAX) return -2;
  if (kind == ZP_TRACE_AT_SITE) r->site = (int32_t)id;
  if (kind == ZP_TRACE_AT_SITE) return 0;
  zp_trace_clean_text(b.at, b.end - b.at, text, sizeof text);
  zp_trace_keep_text(r,
                     kind == ZP_TRACE_SITE    ? &r->sites
                     : kind == ZP_TRACE_LABEL ? &r->labels
                                              : &r->tensors,
                     id, text);
  return 0;
}
