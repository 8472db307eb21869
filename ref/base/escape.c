#define _GNU_SOURCE
#include "escape.h"

/* Is the character one that changes how others are shown? */
static int is_hidden(uint32_t c)
{
  if (c < 0x20) return c != '\n' && c != '\t';
  if (c >= 0x7f && c <= 0x9f) return 1; /* DEL, C1: 0x9b begins a terminal's sequence, as ESC [ */
  if (c == 0x61c || c == 0x200e || c == 0x200f) return 1;
  return (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* The bytes after the first one of a sequence that begins with b; -1: none does. */
static int32_t following(unsigned char b)
{
  if (b < 0x80) return 0;
  if (b >= 0xc2 && b <= 0xdf) return 1;
  if (b >= 0xe0 && b <= 0xef) return 2;
  return b >= 0xf0 && b <= 0xf4 ? 3 : -1;
}

static void put_code(uint32_t c, FILE *f)
{
  fprintf(f, "\\u%04x", (unsigned)c);
}

/* The bytes so far are no UTF-8: each is written as a number. */
static void give_up(zp_escape *e, FILE *f)
{
  for (int32_t i = 0; i < e->have; i++) put_code(e->byte[i], f);
  e->have = 0;
}

/* A whole sequence. */
static void put_sequence(zp_escape *e, FILE *f)
{
  static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000}; /* below: longer than needed */
  uint32_t c = e->have == 1 ? e->byte[0] : e->byte[0] & (0x3fu >> (e->have - 1));
  for (int32_t i = 1; i < e->have; i++) c = c << 6 | (e->byte[i] & 0x3fu);
  if (c < least[e->have - 1] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff) {
    give_up(e, f);
    return;
  }
  if (is_hidden(c)) put_code(c, f);
  else fwrite(e->byte, 1, (size_t)e->have, f);
  e->have = 0;
}

void zp_escape_write(zp_escape *e, const char *text, size_t n, FILE *f)
{
  for (size_t i = 0; i < n; i++) {
    const unsigned char b = (unsigned char)text[i];
    if (e->have > 0 && (b & 0xc0) != 0x80) give_up(e, f); /* not what the sequence needs */
    if (e->have == 0) e->need = 1 + following(b);
    e->byte[e->have++ & 3] = b; /* have < need <= 4 */
    if (e->need == 0) give_up(e, f);
    else if (e->have == e->need) put_sequence(e, f);
  }
}

/* ---- Streams --------------------------------------------------------------------------------- */

static ssize_t write_stream(void *cookie, const char *text, size_t n)
{
  zp_escaped *s = cookie;
  zp_escape_write(&s->escape, text, n, s->to);
  return fflush(s->to) != 0 || ferror(s->to) ? 0 : (ssize_t)n;
}

static int close_stream(void *cookie)
{
  zp_escaped *s = cookie;
  give_up(&s->escape, s->to);
  return fclose(s->to);
}

FILE *zp_escape_stream(zp_escaped *s, FILE *to, int mode)
{
  const cookie_io_functions_t functions = {.write = write_stream, .close = close_stream};
  FILE *f = fopencookie(s, "w", functions);
  *s = (zp_escaped){.to = to};
  if (f != NULL) setvbuf(f, NULL, mode, 0);
  return f;
}
