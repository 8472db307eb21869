/* Whether the files that train will write can be written, and the lock of --save. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/output.h"
#include "train.h"

int zp_train_probe(const zp_train_args *a, int *lock, zp_error *err)
{
  static const char *const saved[] = {"LATEST", "LATEST.tmp", "LOCK", "LOCK.job"};
  const char **inputs = calloc((size_t)a->n_files + 3, sizeof *inputs);
  char path[4096 + 16];
  zp_error why = {0};
  if (inputs == NULL) return zp_fail(err, ZP_E_MEMORY, -1, "no memory");
  int32_t n = a->n_files;
  if (n > 0) memcpy(inputs, a->files, (size_t)n * sizeof *inputs);
  if (a->o.config_file != NULL) inputs[n++] = a->o.config_file;
  for (int32_t i = 0; a->save != NULL && i < 4; i++) {
    snprintf(path, sizeof path, "%.4000s/%s", a->save, saved[i]);
    zp_output_spares("--save", path, inputs, err);
  }
  if (a->load != NULL) inputs[n++] = a->load;
  zp_output_spares("--plot", a->plot, inputs, err);
  zp_output_spares_folder("--plot", a->plot, a->save, err);
  free(inputs);
  if (err->status != 0) return err->status;
  if (a->plot != NULL && zp_output_probe(a->plot, &why) != 0)
    return zp_fail(err, ZP_E_FILE, -1, "--plot %s. Nothing was trained.", why.text);
  if (a->save == NULL || (*lock = zp_ckpt_lock_job(a->save, &why)) >= 0) return 0;
  return zp_fail(err, why.status, -1, "--save %s: %s. Nothing was trained.", a->save, why.text);
}
