#include "forward.h"

#include <errno.h>
#include <unistd.h>

struct pollfd zp_forward_poll(const zp_forward *f)
{
  const int is_full = f->written < f->n;
  return (struct pollfd){is_full ? STDOUT_FILENO : f->from, is_full ? POLLOUT : POLLIN, 0};
}

static void write_some(zp_forward *f)
{
  const ssize_t n = write(STDOUT_FILENO, f->bytes + f->written, (size_t)(f->n - f->written));
  if (n > 0) f->written += (int)n;
  if (n >= 0 || errno == EINTR || errno == EAGAIN) return;
  f->error = errno;
  f->written = f->n;
}

static void read_some(zp_forward *f)
{
  const ssize_t n = read(f->from, f->bytes, sizeof f->bytes);
  f->written = f->n = 0;
  if (n > 0 && f->error == 0) f->n = (int)n;
  if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN))) return;
  close(f->from);
  f->from = -1;
}

void zp_forward_some(zp_forward *f)
{
  if (f->written < f->n) write_some(f);
  else if (f->from >= 0) read_some(f);
}
