/* spec: STEP-10 */
#define _GNU_SOURCE
#include "train_agree.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "../engine/settings.h"

/* The hash of this program's file; 0 if it cannot be read, on every machine without /proc. */
static uint64_t hash_program(void)
{
  enum { CHUNK = 1 << 16 };
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  char *bytes = malloc(CHUNK);
  uint64_t h = 0;
  ssize_t n = 0;
  while (fd >= 0 && bytes != NULL && (n = read(fd, bytes, CHUNK)) > 0)
    h = XXH3_64bits_withSeed(bytes, (size_t)n, h);
  free(bytes);
  if (fd >= 0) close(fd);
  return n < 0 ? 0 : h;
}

static void describe(const zp_training *job, zp_settings *s)
{
  const zp_train_record *r = job->record;
  uint64_t names = 0;
  char text[ZP_LR_TEXT];
  zp_settings_begin(s, "zeroproof train");
  zp_settings_add(s, "hash of the program's file", "%016" PRIx64, hash_program());
  zp_settings_add(s, "steps", "%" PRId64, job->steps);
  zp_settings_add(s, "seed", "%" PRIu64, r->seed);
  zp_settings_add(s, "hash of the data", "%016" PRIx64, r->text_hash);
  zp_settings_add(s, "save", "%s", job->save != NULL ? job->save : "nothing");
  zp_settings_add(s, "load", "%s", job->load != NULL ? job->load : "nothing");
  zp_settings_add(s, "save-every", "%" PRId64, job->save_every);
  zp_settings_add(s, "layers", "%d", (int)r->shape.layers);
  zp_settings_add(s, "d-model", "%d", (int)r->shape.d_model);
  zp_settings_add(s, "heads", "%d", (int)r->shape.heads);
  zp_settings_add(s, "context", "%d", (int)r->shape.context);
  zp_settings_add(s, "batch", "%d", (int)r->shape.batch);
  zp_settings_add(s, "vary-shapes", "%d", (int)r->vary_shapes);
  zp_settings_add(s, "tuple", "%d", (int)r->tuple);
  zp_settings_add(s, "fp32-norms", "%d", (int)r->shape.fp32_norms);
  for (int32_t j = 0; j < job->cfg->n_params; j++)
    names = XXH3_64bits_withSeed(r->names[j], strlen(r->names[j]), names);
  zp_settings_add_config(s, job->cfg, names);
  zp_settings_add_hyper(s, &job->hyper->peak, job->cfg->precision);
  zp_settings_add(s, "schedule", "%s", zp_lr_schedule_text(&job->hyper->schedule, text));
}

int zp_train_agree(const zp_training *job, zp_error *err)
{
  zp_settings mine, first;
  describe(job, &mine);
  first = mine;
  if (zp_mpi_broadcast_bytes(job->mpi, &first, sizeof first, err) != 0) return err->status;
  if (zp_settings_compare(&mine, &first, (zp_settings_lists){NULL, NULL}, zp_mpi_rank(job->mpi),
                          err) != 0)
    return err->status;
  return zp_mpi_barrier(job->mpi, err); /* no rank starts before all have compared */
}
