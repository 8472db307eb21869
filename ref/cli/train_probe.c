/* Whether the files that train will write can be written. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/output.h"
#include "train.h"

/* 0, or ZP_E_FILE: makes a file in the folder, and the folder when it is not there, and removes
 * both. */
static int probe_folder(const char *dir, zp_error *err)
{
  char path[4096 + 16];
  const int made = mkdir(dir, 0777) == 0;
  int fd, status = 0;
  if (!made && errno != EEXIST)
    return zp_fail(err, ZP_E_FILE, -1,
                   "--save %s: the folder cannot be made: %m. Nothing was trained.", dir);
  snprintf(path, sizeof path, "%.4000s/.probe-XXXXXX", dir);
  fd = mkstemp(path);
  if (fd < 0)
    status = zp_fail(err, ZP_E_FILE, -1,
                     "--save %s: no file can be made there: %m. Nothing was trained.", dir);
  else {
    close(fd);
    unlink(path);
  }
  if (made) rmdir(dir);
  return status;
}

int zp_train_probe(const zp_train_args *a, zp_error *err)
{
  zp_error why = {0};
  if (a->plot != NULL && zp_output_probe(a->plot, &why) != 0)
    return zp_fail(err, ZP_E_FILE, -1, "--plot %s. Nothing was trained.", why.text);
  return a->save != NULL ? probe_folder(a->save, err) : 0;
}
