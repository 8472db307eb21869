/* Device memory is out of reach while hosts run, where options.protect_device asks for it: a host
 * that follows a device pointer would be killed on a machine with a device, and here it is told. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>

#include "internal.h"

static struct sigaction before; /* what the program had; shared, as signal handlers are */

static void set(const simdev *s, int protection)
{
  const size_t used = (size_t)(s->device.next - s->device.base);
  (void)mprotect(s->device.base, (used + 4095) & ~(size_t)4095, protection);
}

void sd_protect(simdev *s)
{
  if (s->opt.protect_device && !s->verdict) set(s, PROT_NONE);
}

void sd_unprotect(simdev *s)
{
  if (s->opt.protect_device) set(s, PROT_READ | PROT_WRITE);
}

/* Opens the memory and lets the access happen; the run has ended: the host's next call fails. */
static void touched(int signal, siginfo_t *info, void *context)
{
  simdev *s = sd_now;
  const char *at = info->si_addr;
  const sd_alloc *a = s && s->running ? sd_memory_find(s, at) : NULL;
  (void)signal, (void)context;
  if (!a || sd_memory_place(s, at) != SD_DEVICE || s->verdict) {
    sigaction(SIGSEGV, &before, NULL); /* not ours: it happens again, as it would have */
    return;
  }
  sd_unprotect(s);
  sd_note(
      s, SIMDEV_E_ACCESS, 1, s->running->agent.rank,
      "rank %d, after call %d (%s): the host touches device memory, +%zu of %zu bytes (rank %d, "
      "call %d): on a device that ends the process; copy it instead",
      s->running->agent.rank, s->running->call,
      s->running->call_name ? s->running->call_name : "none", (size_t)(at - a->at), a->bytes,
      a->rank, a->call);
}

void sd_protect_begin(simdev *s)
{
  struct sigaction act = {0};
  if (!s->opt.protect_device) return;
  act.sa_sigaction = touched;
  act.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &act, &before);
}

void sd_protect_end(simdev *s)
{
  if (!s->opt.protect_device) return;
  sd_unprotect(s);
  sigaction(SIGSEGV, &before, NULL);
}
