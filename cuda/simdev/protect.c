/* With options.protect_device, device memory is inaccessible while hosts run. A host that
 * dereferences a device pointer, which would crash with a real device, becomes a finding. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "state.h"

static struct sigaction before; /* the program's own; shared, as signal handlers are */

static void set(const simdev *s, int protection)
{
  const size_t used = (size_t)(s->memory.device.next - s->memory.device.base);
  (void)mprotect(s->memory.device.base, (used + 4095) & ~(size_t)4095, protection);
}

void sd_protect(simdev *s)
{
  if (s->opt.protect_device && !s->found.verdict) set(s, PROT_NONE);
}

void sd_unprotect(simdev *s)
{
  if (s->opt.protect_device) set(s, PROT_READ | PROT_WRITE);
}

/* Makes the memory accessible, so that the host continues to its next call, which fails as the run
 * has ended. */
static void on_access(int signal, siginfo_t *info, void *context)
{
  simdev *s = sd_now;
  const char *at = info->si_addr;
  const sd_alloc *a = s && s->hosts.running ? sd_memory_find(s, at) : NULL;
  (void)signal, (void)context;
  if (!a || sd_memory_kind_of(s, at) != SD_DEVICE || s->found.verdict) {
    sigaction(SIGSEGV, &before, NULL); /* not ours: it happens again with the program's handler */
    return;
  }
  sd_unprotect(s);
  sd_note(
      s, SIMDEV_E_ACCESS, 1, s->hosts.running->agent.rank,
      "rank %d, after call %d (%s): the host accesses device memory, +%zu of %zu bytes (rank %d, "
      "call %d): on a device that ends the process; copy it instead",
      s->hosts.running->agent.rank, s->hosts.running->call,
      s->hosts.running->call_name ? s->hosts.running->call_name : "none", (size_t)(at - a->at),
      a->bytes, a->rank, a->call);
}

void sd_protect_begin(simdev *s)
{
  struct sigaction act = {0};
  if (!s->opt.protect_device) return;
  act.sa_sigaction = on_access;
  act.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &act, &before);
}

void sd_protect_end(simdev *s)
{
  if (!s->opt.protect_device) return;
  sd_unprotect(s);
  sigaction(SIGSEGV, &before, NULL);
}
