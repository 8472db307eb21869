/* A stream's kernels and host functions run on the stack of its fiber: on a shared stack their
 * local variables would seem to race. Recycled fibers stay with the thread that ran the simulation,
 * as creating one costs more than a short run. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "arena.h"
#include "race.h"

#ifdef SIMDEV_TSAN

enum { PAGE = 4096 };

/* Calls fn(arg) on the stack whose upper end is top. */
void sd_call_on(void *top, void (*fn)(void *), void *arg);

#if defined(__x86_64__)
__asm__(".text\n"
        ".hidden sd_call_on\n"
        ".globl sd_call_on\n"
        ".type sd_call_on, @function\n"
        "sd_call_on:\n"
        "  pushq %rbp\n  movq %rsp, %rbp\n"
        "  movq %rdi, %rsp\n  movq %rdx, %rdi\n"
        "  call *%rsi\n"
        "  movq %rbp, %rsp\n  popq %rbp\n  ret\n"
        ".size sd_call_on, .-sd_call_on\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".hidden sd_call_on\n"
        ".globl sd_call_on\n"
        ".type sd_call_on, %function\n"
        "sd_call_on:\n"
        "  stp x29, x30, [sp, #-16]!\n  mov x29, sp\n"
        "  mov sp, x0\n  mov x0, x2\n"
        "  blr x1\n"
        "  mov sp, x29\n  ldp x29, x30, [sp], #16\n  ret\n"
        ".size sd_call_on, .-sd_call_on\n");
#endif

static _Thread_local sd_fiber *spare;

/* The fiber's record lies above its stack, the lowest page is a guard. */
static sd_fiber *make(size_t bytes)
{
  char *p = sd_map(bytes);
  sd_fiber *f;
  if (!p) return NULL;
  if (mprotect(p, PAGE, PROT_NONE)) {
    munmap(p, bytes);
    return NULL;
  }
  f = (sd_fiber *)(void *)(p + bytes - sizeof *f);
  f->stack = p;
  f->bytes = bytes;
  f->race = sd_race_fiber();
  return f;
}

int sd_fiber_acquire(size_t stack_bytes, sd_fiber **f)
{
  const size_t bytes = stack_bytes + 2 * PAGE; /* the guard, the record */
  while (spare && spare->bytes < bytes) {      /* of a simulation with smaller stacks */
    sd_fiber *small = spare;
    spare = small->next;
    sd_fiber_destroy(small);
  }
  *f = spare;
  if (spare) spare = spare->next;
  else *f = make(bytes);
  return *f ? 0 : -1;
}

void sd_fiber_recycle(sd_fiber *f)
{
  f->next = spare;
  spare = f;
}

void sd_fiber_destroy(sd_fiber *f)
{
  sd_race_drop(f->race);
  munmap(f->stack, f->bytes);
}

void sd_fiber_call(sd_fiber *f, void (*fn)(void *), void *arg)
{
  sd_call_on(f->stack + f->bytes - PAGE, fn, arg);
}

#else

int sd_fiber_acquire(size_t stack_bytes, sd_fiber **f)
{
  (void)stack_bytes;
  *f = NULL;
  return 0;
}

void sd_fiber_recycle(sd_fiber *f)
{
  (void)f;
}

void sd_fiber_destroy(sd_fiber *f)
{
  (void)f;
}

void sd_fiber_call(sd_fiber *f, void (*fn)(void *), void *arg)
{
  (void)f;
  fn(arg);
}

#endif
