/* A thread's open group (op.h). */
#include "op.h"

static _Thread_local zp_nt_group group;

/* Word by word: for an assignment the compiler may call memcpy, which sanitizers intercept. */
static void copy(zp_nt_op *to, const zp_nt_op *from)
{
  const uint64_t *a = (const uint64_t *)(const void *)from;
  volatile uint64_t *b = (volatile uint64_t *)(void *)to;
  _Static_assert(sizeof *to % sizeof *b == 0, "whole words");
  for (unsigned i = 0; i < sizeof *to / sizeof *b; i++) b[i] = a[i];
}

int zp_nt_group_open(void)
{
  return group.depth++;
}

int zp_nt_group_close(void)
{
  return group.depth == 0 ? -1 : --group.depth;
}

int zp_nt_group_depth(void)
{
  return group.depth;
}

int zp_nt_group_add(const zp_nt_op *op)
{
  if (group.depth == 0) return 0;
  if (group.n == ZP_NT_OPS_MAX) {
    group.overflow = 1;
    return -1;
  }
  copy(&group.ops[group.n++], op);
  return 1;
}

int zp_nt_group_collect(zp_nt_op *ops)
{
  const int n = group.overflow ? -1 : group.n;
  for (int i = 0; i < n; i++) copy(&ops[i], &group.ops[i]);
  group.n = group.overflow = 0;
  return n;
}
