/* A program of gpu-check on simdev: one rank's host. */
#include <stdio.h>

#include "../simdev/simdev.h"
#include "main.h"

typedef struct call {
  int argc, result;
  char **argv;
} call;

static int host(void *arg, int rank)
{
  call *c = arg;
  (void)rank;
  c->result = zp_gpu_main(c->argc, c->argv);
  return 0;
}

int main(int argc, char **argv)
{
  call c = {argc, 3, argv};
  const simdev_options o = {.stack_bytes = 4 << 20};
  const char *why = "";
  simdev *s = simdev_open(1, 1, &o, &why);
  if (!s || simdev_host(s, 0, host, &c)) {
    fprintf(stderr, "simdev: %s\n", why);
    return 3;
  }
  if (simdev_run(s) != SIMDEV_OK) {
    fprintf(stderr, "simdev: %s\n", simdev_result(s)->text);
    c.result = 3;
  }
  simdev_close(s);
  return c.result;
}
