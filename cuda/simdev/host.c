/* Hosts: coroutines with stacks of their own, which give way where a call blocks or polls, and
 * wherever the seed says so. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "internal.h"

#ifdef SD_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

_Thread_local simdev *sd_now;

/* ---- Switching stacks ------------------------------------------------------------------------ */

/* Saves the stack pointer in *from and goes on at `to`, where another call of it was left. */
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
#error "simdev: no stack switch for this processor; host.c needs one (x86-64 and AArch64 have it)"
#endif

static void to_host(simdev *s, sd_host *h)
{
  s->running = h;
  sd_race_switch(sd_race_of(h->fiber), s->opt.weaken & SIMDEV_WEAK_SWITCH);
#ifdef SD_ASAN
  __sanitizer_start_switch_fiber(&s->main_fake, h->stack, s->opt.stack_bytes);
#endif
  sd_protect(s);
  sd_switch_stack(&s->main_sp, h->sp);
  sd_unprotect(s);
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(s->main_fake, NULL, NULL);
#endif
  s->running = NULL;
}

/* last: the host never comes back. */
static void to_main(simdev *s, sd_host *h, int last)
{
  sd_race_switch(s->main_race, s->opt.weaken & SIMDEV_WEAK_SWITCH);
#ifdef SD_ASAN
  __sanitizer_start_switch_fiber(last ? NULL : &h->fake_stack, s->main_stack, s->main_stack_bytes);
#endif
  (void)last;
  sd_switch_stack(&h->sp, s->main_sp);
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(h->fake_stack, NULL, NULL);
#endif
}

static void host_main(void)
{
  simdev *s = sd_now;
  sd_host *h = s->running;
#ifdef SD_ASAN
  __sanitizer_finish_switch_fiber(NULL, &s->main_stack, &s->main_stack_bytes);
#endif
  sd_race_acquire(&s->begin_sync);
  h->result = h->fn(h->arg, h->agent.rank);
  sd_race_unmute(&h->muted);
  sd_race_release(&s->end_sync);
  h->state = SD_ENDED;
  sd_ready_remove(s, &h->agent);
  s->live_hosts--;
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
  /* a host that was stopped leaves its frames' marks, on addresses that others are given next */
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
  if (sd_fiber_take(s, &h->fiber)) return -1;
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
  h->state = SD_GOES;
  h->result = 0;
  h->device = h->bound = 0;
  h->call = 0;
  h->tag = 0;
  h->call_name = NULL;
  h->blocked_by = NULL;
  h->job = NULL;
  h->key = NULL;
  h->last_error = cudaSuccess;
  h->group = NULL;
  if (sd_agent_make(s, &h->agent, SD_HOST, h->agent.rank)) return -1;
  h->own = sd_take(s, (size_t)s->devices * sizeof *h->own);
  if (!h->own) return -1;
  s->live_hosts++;
  sd_ready_add(s, &h->agent);
  return 0;
}

void sd_resume(simdev *s, sd_host *h)
{
  h->agent.issue = ++s->order;
  to_host(s, h);
}

/* The host stays ready unless it was taken out before; returns when it is scheduled again. */
void sd_give_way(simdev *s, sd_host *h)
{
  to_main(s, h, 0);
}

/* ---- Where calls begin, block and poll ------------------------------------------------------- */

/* A host that never goes on; where a fault, or a run that has ended, leaves it. */
void sd_stop(simdev *s, sd_host *h)
{
  h->state = SD_STOPPED;
  sd_ready_remove(s, &h->agent);
  s->live_hosts--;
  for (;;) sd_give_way(s, h);
}

cudaError_t sd_enter(sd_host **host, const char *name, const void *pc)
{
  simdev *s = sd_now;
  cudaError_t e = cudaSuccess;
  sd_host *h;
  *host = NULL;
  if (s && s->in_callback) {
    sd_note(s, SIMDEV_E_MISUSE, 1, -1,
            "%s is called from a host function (cudaLaunchHostFunc): no CUDA or NCCL call is "
            "allowed there",
            name);
    return cudaErrorNotPermitted;
  }
  if (!s || !s->running) return cudaErrorInitializationError;
  *host = h = s->running;
  sd_race_unmute(&h->muted);
  if (s->verdict) { /* hosts are to return; those that do not are left where they are */
    if (s->unwound_calls++ == 0) sd_streams_out(s);
    if (s->unwound_calls > 100000) sd_stop(s, h);
    sd_race_acquire(&s->end_sync);
    return cudaErrorUnknown;
  }
  if (s->rank[h->agent.rank].dead) sd_stop(s, h);
  h->call = ++s->rank[h->agent.rank].calls;
  s->report.calls++;
  h->call_name = name;
  h->call_pc = pc;
  h->planted = s->opt.fault_count && sd_fault_call(s, h, &e);
  if (h->planted) return sd_error(h, e);
  if (h->agent.slow || (s->preempt_256 && (int)sd_below(s, 256) < s->preempt_256)) {
    sd_give_way(s, h);
    if (s->verdict) return cudaErrorUnknown;
  }
  if (s->rank[h->agent.rank].sticky) return sd_error(h, s->rank[h->agent.rank].sticky);
  return cudaSuccess;
}

const sd_item *sd_host_waits(const sd_host *h)
{
  return h->state == SD_BLOCKED ? h->blocked_by : NULL;
}

int sd_block_on(sd_host *h, sd_item *item)
{
  simdev *s = sd_now;
  if (item && !item->done) {
    h->state = SD_BLOCKED;
    h->blocked_by = item;
    sd_ready_remove(s, &h->agent);
    h->agent.waits_for = item;
    h->agent.next = item->waiters;
    item->waiters = &h->agent;
    sd_give_way(s, h);
    h->state = SD_GOES;
  }
  return s->verdict || (item && !item->done) ? -1 : 0;
}

cudaError_t sd_never(const sd_host *h)
{
  const cudaError_t sticky = sd_now->rank[h->agent.rank].sticky;
  return sticky ? sticky : cudaErrorUnknown;
}

static void leave_waiters(sd_agent *a)
{
  sd_agent **p;
  if (!a->waits_for) return;
  for (p = &a->waits_for->waiters; *p != a; p = &(*p)->next) {
  }
  *p = a->next;
  a->waits_for = NULL;
}

/* A poll that found nothing. The host sleeps until what it asked for has happened or nobody else
 * can go on; now and then it does not sleep, so that it is seen to poll at any moment. */
void sd_park(sd_host *h, sd_item *item)
{
  simdev *s = sd_now;
  if (s->verdict) return;
  if (sd_below(s, 8) != 0) {
    h->state = SD_PARKED;
    sd_ready_remove(s, &h->agent);
    if (item && !item->done) {
      h->agent.waits_for = item;
      h->agent.next = item->waiters;
      item->waiters = &h->agent;
    }
  }
  h->agent.priority = --s->pct_low; /* PCT: it would be chosen for ever */
  sd_give_way(s, h);
  h->state = SD_GOES;
}

void sd_wake_parked(simdev *s, int32_t rank)
{
  for (int32_t i = 0; i < s->host_count; i++) {
    sd_host *h = s->host[i];
    if (h->state != SD_PARKED || (rank >= 0 && h->agent.rank != rank)) continue;
    leave_waiters(&h->agent);
    h->state = SD_GOES;
    sd_ready_add(s, &h->agent);
  }
}

/* Nothing of the rank runs on its devices any more; hosts that wait for an item hear of it. */
void sd_lose(simdev *s, int32_t rank, cudaError_t e)
{
  sd_rank *r = &s->rank[rank];
  r->sticky = e;
  r->lost = 1;
  for (sd_stream *st = r->all; st; st = st->next) sd_ready_remove(s, &st->agent);
  for (int32_t i = 0; i < s->host_count; i++) {
    sd_host *h = s->host[i];
    if (h->agent.rank != rank || h->state != SD_BLOCKED || !h->agent.waits_for) continue;
    leave_waiters(&h->agent);
    h->state = SD_GOES;
    sd_ready_add(s, &h->agent);
  }
  sd_wake_parked(s, rank);
}
