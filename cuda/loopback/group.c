/* A thread's open group. See internal.h for why this file is compiled as simdev is. */
#include "internal.h"

static _Thread_local lb_group group;

/* Member by member, as a copy of the whole may call what sanitizers see. */
static void copy(lb_op *to, const lb_op *from)
{
  const uint64_t *a = (const uint64_t *)(const void *)from;
  volatile uint64_t *b = (volatile uint64_t *)(void *)to;
  _Static_assert(sizeof *to % sizeof *b == 0, "whole words");
  for (unsigned i = 0; i < sizeof *to / sizeof *b; i++) b[i] = a[i];
}

int lb_group_open(void)
{
  return group.depth++;
}

int lb_group_close(void)
{
  return group.depth == 0 ? -1 : --group.depth;
}

int lb_group_depth(void)
{
  return group.depth;
}

int lb_group_add(const lb_op *op)
{
  if (group.depth == 0) return 0;
  if (group.n == LB_OPS) {
    group.over = 1;
    return -1;
  }
  copy(&group.ops[group.n++], op);
  return 1;
}

int lb_group_take(lb_op *ops)
{
  const int n = group.over ? -1 : group.n;
  for (int i = 0; i < n; i++) copy(&ops[i], &group.ops[i]);
  group.n = group.over = 0;
  return n;
}
