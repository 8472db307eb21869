/* Whether the files that train will write can be written. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  static const char *const saved[] = {"LATEST", "LATEST.tmp", "LOCK"};
  const char **inputs = calloc((size_t)a->n_files + 3, sizeof *inputs);
  char path[4096 + 16];
  zp_error why = {0};
  if (inputs == NULL) return zp_fail(err, ZP_E_MEMORY, -1, "no memory");
  int32_t n = a->n_files;
  if (n > 0) memcpy(inputs, a->files, (size_t)n * sizeof *inputs);
  if (a->o.config_file != NULL) inputs[n++] = a->o.config_file;
  for (int32_t i = 0; a->save != NULL && i < 3; i++) {
    snprintf(path, sizeof path, "%.4000s/%s", a->save, saved[i]);
    zp_output_spares("--save", path, inputs, err);
  }
  if (a->load != NULL) inputs[n++] = a->load;
  zp_output_spares("--plot", a->plot, inputs, err);
  free(inputs);
  if (err->status != 0) return err->status;
  if (a->plot != NULL && zp_output_probe(a->plot, &why) != 0)
    return zp_fail(err, ZP_E_FILE, -1, "--plot %s. Nothing was trained.", why.text);
  return a->save != NULL ? probe_folder(a->save, err) : 0;
}
