/* Reads a pickle that builds plain containers: None, bool, int, float, text, bytes, list, tuple and
 * dictionary. An opcode that names or calls a function is refused, so nothing of the file is ever
 * executed. Lengths are compared with the bytes that are left before anything is allocated. */
#include <string.h>

#include "flight.h"

typedef struct pickle {
  zp_flight_file *f;
  int64_t at;
  int32_t mark[ZP_FLIGHT_DEPTH]; /* [marks] heights of the stack */
  int32_t marks, memoized;
} pickle;

static const struct {
  uint8_t code;
  const char *name;
} refused[] = {
    {'c', "GLOBAL"},      {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},          {'b', "BUILD"},
    {'i', "INST"},        {'o', "OBJ"},           {0x81, "NEWOBJ"},         {0x92, "NEWOBJ_EX"},
    {'P', "PERSID"},      {'Q', "BINPERSID"},     {0x82, "EXT1"},           {0x83, "EXT2"},
    {0x84, "EXT4"},       {0x8f, "EMPTY_SET"},    {0x90, "ADDITEMS"},       {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};

/* Fails at the byte of an opcode. */
__attribute__((noreturn)) static void stop(const pickle *p, int64_t at, const char *why)
{
  zp_trace_fail(p->f->failure, ZP_E_REFUSED,
                "%s: byte %lld of the pickle: %s: not a Flight Recorder dump, or damaged.",
                p->f->name, (long long)at, why);
}

__attribute__((noreturn)) static void refuse(const pickle *p, int64_t at, uint8_t code)
{
  char why[96];
  const char *name = "unknown";
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (refused[i].code == code) name = refused[i].name;
  snprintf(why, sizeof why, "opcode 0x%02x (%s) does not build a plain container", code, name);
  stop(p, at, why);
}

static const uint8_t *take(pickle *p, uint64_t n)
{
  if (n > (uint64_t)(p->f->size - p->at)) stop(p, p->at, "the file ends within a value");
  const uint8_t *bytes = (const uint8_t *)p->f->bytes + p->at;
  p->at += (int64_t)n;
  return bytes;
}

/* A little-endian number of n bytes. */
static uint64_t number(pickle *p, int n)
{
  const uint8_t *b = take(p, (uint64_t)n);
  uint64_t v = 0;
  for (int i = n; i-- > 0;) v = v << 8 | b[i];
  return v;
}

static void push(pickle *p, int32_t value)
{
  zp_flight_file *f = p->f;
  if (f->stack_n == f->stack_cap) {
    const int32_t cap = f->stack_cap ? 2 * f->stack_cap : 64;
    if (f->stack_n >= ZP_FLIGHT_ITEMS) stop(p, p->at, "the stack is too high");
    f->stack =
        zp_trace_grow(f->failure, f->stack, (size_t)f->stack_cap, (size_t)cap, sizeof *f->stack);
    f->stack_cap = cap;
  }
  f->stack[f->stack_n++] = value;
}

static int32_t floor_of(const pickle *p)
{
  return p->marks > 0 ? p->mark[p->marks - 1] : 0;
}

/* The top value, which stays; n values above the last mark must be there. */
static int32_t top(const pickle *p, int32_t n)
{
  if (p->f->stack_n - floor_of(p) < n) stop(p, p->at - 1, "an opcode finds no value");
  return p->f->stack[p->f->stack_n - 1];
}

static void push_integer(pickle *p, int64_t integer)
{
  zp_flight_value v = {.kind = ZP_FLIGHT_INTEGER};
  v.integer = integer;
  push(p, zp_flight_add(p->f, v));
}

static void push_text(pickle *p, uint64_t n)
{
  zp_flight_value v = {.kind = ZP_FLIGHT_TEXT};
  v.text = (const char *)take(p, n);
  v.n = (int32_t)n;
  push(p, zp_flight_add(p->f, v));
}

/* A number of n bytes in two's complement. A larger one than 64 bits becomes the nearest. */
static void push_long(pickle *p)
{
  const int n = (int)number(p, 1);
  const uint8_t *b = take(p, (uint64_t)n);
  const uint64_t sign = n > 0 && b[n - 1] >= 128 ? UINT64_MAX : 0;
  uint64_t v = sign;
  int fits = 1;
  for (int i = n; i-- > 0;) {
    if (i >= 8) fits &= b[i] == (uint8_t)sign;
    else v = v << 8 | b[i];
  }
  if (n >= 8 && (b[7] >= 128) != (sign != 0)) fits = 0;
  push_integer(p, fits ? (int64_t)v : sign ? INT64_MIN : INT64_MAX);
}

static void push_real(pickle *p)
{
  const uint8_t *b = take(p, 8);
  uint64_t bits = 0;
  for (int i = 0; i < 8; i++) bits = bits << 8 | b[i];
  zp_flight_value v = {.kind = ZP_FLIGHT_REAL};
  memcpy(&v.real, &bits, sizeof v.real);
  push(p, zp_flight_add(p->f, v));
}

static int32_t empty(pickle *p, zp_flight_kind kind)
{
  return zp_flight_add(p->f, (zp_flight_value){.kind = (uint8_t)kind});
}

/* Appends the values from height `from` on to a list or dictionary, and removes them. */
static void append(pickle *p, int32_t to, int32_t from)
{
  zp_flight_file *f = p->f;
  const int dict = f->at[to].kind == ZP_FLIGHT_DICT;
  if (dict && (f->stack_n - from) % 2 != 0) stop(p, p->at - 1, "a key without a value");
  for (int32_t i = from; i < f->stack_n; i++) zp_flight_append(f, to, f->stack[i]);
  f->stack_n = from;
}

/* The last n values become a list. */
static void group_values(pickle *p, int32_t n, zp_flight_kind kind)
{
  const int32_t list = empty(p, kind);
  if (n > 0) (void)top(p, n);
  append(p, list, p->f->stack_n - n);
  push(p, list);
}

/* Removes the last mark and returns its height. */
static int32_t unmark(pickle *p)
{
  if (p->marks == 0) stop(p, p->at - 1, "an opcode finds no mark");
  return p->mark[--p->marks];
}

/* Appends what is above height `from` to the container below it. */
static void extend(pickle *p, int32_t from, zp_flight_kind kind)
{
  if (from - floor_of(p) < 1 || p->f->at[p->f->stack[from - 1]].kind != kind)
    stop(p, p->at - 1, "an opcode finds no container");
  append(p, p->f->stack[from - 1], from);
}

static void memoize(pickle *p, uint64_t number)
{
  zp_flight_file *f = p->f;
  const int32_t value = top(p, 1);
  if (number >= ZP_FLIGHT_VALUES) stop(p, p->at - 1, "a memo number is too large");
  if ((int64_t)number >= f->memo_cap) {
    int32_t cap = f->memo_cap ? 2 * f->memo_cap : 256;
    while (cap <= (int64_t)number) cap *= 2;
    f->memo = zp_trace_grow(f->failure, f->memo, (size_t)f->memo_cap, (size_t)cap, sizeof *f->memo);
    f->memo_cap = cap;
  }
  f->memo[number] = value + 1;
  p->memoized++;
}

static void recall(pickle *p, uint64_t number)
{
  if (number >= (uint64_t)p->f->memo_cap || p->f->memo[number] == 0)
    stop(p, p->at - 1, "a memo number has no value");
  push(p, p->f->memo[number] - 1);
}

/* Opcodes that push one value. Returns 0 for others. */
static int scalar(pickle *p, uint8_t code)
{
  switch (code) {
  case 'N': push(p, ZP_FLIGHT_NONE); return 1;
  case 0x88: push(p, ZP_FLIGHT_TRUE); return 1;
  case 0x89: push(p, ZP_FLIGHT_FALSE); return 1;
  case 'J': push_integer(p, (int32_t)number(p, 4)); return 1;
  case 'K': push_integer(p, (int64_t)number(p, 1)); return 1;
  case 'M': push_integer(p, (int64_t)number(p, 2)); return 1;
  case 0x8a: push_long(p); return 1;
  case 'G': push_real(p); return 1;
  case 'U':
  case 'C':
  case 0x8c: push_text(p, number(p, 1)); return 1;
  case 'T':
  case 'B':
  case 'X': push_text(p, number(p, 4)); return 1;
  case 0x8d:
  case 0x8e: push_text(p, number(p, 8)); return 1;
  default: return 0;
  }
}

/* Opcodes that build containers. Returns 0 for others. */
static int container(pickle *p, uint8_t code)
{
  const int32_t n = p->f->stack_n;
  switch (code) {
  case ')':
  case ']': push(p, empty(p, ZP_FLIGHT_LIST)); return 1;
  case '}': push(p, empty(p, ZP_FLIGHT_DICT)); return 1;
  case 0x85: group_values(p, 1, ZP_FLIGHT_LIST); return 1;
  case 0x86: group_values(p, 2, ZP_FLIGHT_LIST); return 1;
  case 0x87: group_values(p, 3, ZP_FLIGHT_LIST); return 1;
  case 't':
  case 'l': group_values(p, n - unmark(p), ZP_FLIGHT_LIST); return 1;
  case 'd': group_values(p, n - unmark(p), ZP_FLIGHT_DICT); return 1;
  case 'a': extend(p, n - 1, ZP_FLIGHT_LIST); return 1;
  case 's': extend(p, n - 2, ZP_FLIGHT_DICT); return 1;
  case 'e': extend(p, unmark(p), ZP_FLIGHT_LIST); return 1;
  case 'u': extend(p, unmark(p), ZP_FLIGHT_DICT); return 1;
  default: return 0;
  }
}

void zp_flight_unpickle(zp_flight_file *f)
{
  pickle p = {.f = f};
  for (;;) {
    const int64_t at = p.at;
    const uint8_t code = take(&p, 1)[0];
    if (scalar(&p, code) || container(&p, code)) continue;
    switch (code) {
    case 0x80:
      if (number(&p, 1) > 5) stop(&p, at, "a newer pickle protocol than 5");
      break;
    case 0x95: (void)number(&p, 8); break;
    case '(':
      if (p.marks == ZP_FLIGHT_DEPTH) stop(&p, at, "marks are nested more than 64 deep");
      p.mark[p.marks++] = f->stack_n;
      break;
    case 'q': memoize(&p, number(&p, 1)); break;
    case 'r': memoize(&p, number(&p, 4)); break;
    case 0x94: memoize(&p, (uint64_t)p.memoized); break;
    case 'h': recall(&p, number(&p, 1)); break;
    case 'j': recall(&p, number(&p, 4)); break;
    case '.':
      if (p.marks != 0 || f->stack_n != 1)
        stop(&p, at, "it ends with another number of values than 1");
      f->root = f->stack[0];
      return;
    default: refuse(&p, at, code);
    }
  }
}
