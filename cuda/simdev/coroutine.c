/* Coroutines: the hosts' stacks, and switching between them and the scheduler. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "state.h"

#ifdef SD_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

/* ---- Switching stacks ------------------------------------------------------------------------ */

/* Saves the stack pointer in *from, and returns where the call that saved `to` was made. */
void sd_switch_stack(void **from, void *to);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl sd_switch_stack\n"
        ".hidden sd_switch_stack\n"
        ".type sd_switch_stack, @function\n"
        "sd_switch_stack:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size sd_switch_stack, .-sd_switch_stack\n");
enum { SAVED = 6 };
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl sd_switch_stack\n"
        ".hidden sd_switch_stack\n"
        ".type sd_switch_stack, %function\n"
        "sd_switch_stack:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n  ret\n"
        ".size sd_switch_stack, .-sd_switch_stack\n");
#else
#error                                                                                             \
    "simdev: no stack switch for this processor; coroutine.c needs one (x86-64 and AArch64 have it)"
#endif

static void to_host(simdev *s, sd_host *h)
{
  s->hosts.running = h;
  sd_race_switch(sd_race_of(h->fiber), s->opt.weaken & SIMDEV_WEAK_SWITCH);
#ifdef SD_ASAN
  __sanitizer_start_switch_fiber(&s->hosts.main_fake, h->stack, s->opt.stack_bytes);
#endif
  sd_protect(s);
  sd_switch_stack(&s->hosts.main_sp, h->sp);
  sd_unprotect(s);
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(s->hosts.main_fake, NULL, NULL);
#endif
  s->hosts.running = NULL;
}

/* last: the host is not resumed again. */
static void to_main(simdev *s, sd_host *h, int last)
{
  sd_race_switch(s->hosts.main_race, s->opt.weaken & SIMDEV_WEAK_SWITCH);
#ifdef SD_ASAN
  __sanitizer_start_switch_fiber(last ? NULL : &h->fake_stack, s->hosts.main_stack,
                                 s->hosts.main_stack_bytes);
#endif
  (void)last;
  sd_switch_stack(&h->sp, s->hosts.main_sp);
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(h->fake_stack, NULL, NULL);
#endif
}

static void host_main(void)
{
  simdev *s = sd_now;
  sd_host *h = s->hosts.running;
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(NULL, &s->hosts.main_stack, &s->hosts.main_stack_bytes);
#endif
  sd_race_acquire(&s->sync.begin);
  h->result = h->fn(h->arg, h->agent.rank);
  sd_race_unmute(&h->muted);
  sd_race_release(&s->sync.end);
  h->state = SD_HOST_ENDED;
  sd_ready_remove(s, &h->agent);
  s->hosts.live--;
  to_main(s, h, 1);
  __builtin_trap(); /* an ended host is not resumed */
}

int sd_host_stack(simdev *s, sd_host *h)
{
  const size_t page = 4096, bytes = s->opt.stack_bytes + page; /* the lowest page is a guard */
  char *p =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (p == MAP_FAILED) return -1;
  if (mprotect(p, page, PROT_NONE)) {
    munmap(p, bytes);
    return -1;
  }
  h->stack = p + page;
  return 0;
}

void sd_host_close(simdev *s, sd_host *h)
{
#ifdef SD_ASAN
  /* A stopped host leaves the marks of its frames on addresses that the next mmap may return. */
  if (h->stack) __asan_unpoison_memory_region(h->stack, s->opt.stack_bytes);
#endif
  if (h->stack) munmap(h->stack - 4096, s->opt.stack_bytes + 4096);
  h->stack = NULL;
}

int sd_host_begin(simdev *s, sd_host *h)
{
  void **top = (void **)(void *)(h->stack + s->opt.stack_bytes);
#ifdef SD_ASAN
  __asan_unpoison_memory_region(h->stack, s->opt.stack_bytes);
#endif
  if (sd_fiber_acquire(s->opt.stack_bytes, &h->fiber)) return -1;
  h->fake_stack = NULL;
#if defined(__x86_64__)
  top -= 2; /* at a function's entry the stack is 8 off a multiple of 16 */
  top[0] = (void *)(uintptr_t)host_main;
  top[1] = NULL;
  for (int i = 0; i < SAVED; i++) *--top = NULL;
#else
  top -= 20;
  for (int i = 0; i < 20; i++) top[i] = NULL;
  top[11] = (void *)(uintptr_t)host_main; /* x30 */
#endif
  h->sp = top;
  h->state = SD_HOST_RUNNABLE;
  h->result = 0;
  h->device = h->bound = 0;
  h->call = 0;
  h->tag = 0;
  h->call_name = NULL;
  h->blocked_by = NULL;
  h->held = NULL;
  h->job = NULL;
  h->key = NULL;
  h->last_error = cudaSuccess;
  h->group = NULL;
  if (sd_agent_make(s, &h->agent, SD_HOST, h->agent.rank)) return -1;
  h->own = sd_arena_alloc(&s->arena, (size_t)s->devices * sizeof *h->own);
  if (!h->own) return -1;
  s->hosts.live++;
  sd_ready_add(s, &h->agent);
  return 0;
}

void sd_host_resume(simdev *s, sd_host *h)
{
  h->agent.issue = sd_next_turn(s);
  to_host(s, h);
}

void sd_host_yield(simdev *s, sd_host *h)
{
  to_main(s, h, 0);
}

void sd_host_stop(simdev *s, sd_host *h)
{
  h->state = SD_HOST_STOPPED;
  sd_ready_remove(s, &h->agent);
  s->hosts.live--;
  for (;;) sd_host_yield(s, h);
}
