/* The options of an engine, compared between ranks. spec: STEP-10 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine_parts.h"
#include "entry_list.h"
#include "settings.h"

/* What rank 0 has. Its parameter list follows in an exchange of its own. */
typedef struct shared {
  zp_settings settings;
  int64_t list_bytes; /* with its 0 */
} shared;

static uint64_t hash_names(const zp_engine_options *o)
{
  uint64_t h = 0;
  char name[ZP_CKPT_NAME];
  for (int32_t j = 0; j < o->config->n_params; j++) {
    zp_engine_name(o, j, name, sizeof name);
    h = XXH3_64bits_withSeed(name, strlen(name), h);
  }
  return h;
}

static int exchange(const zp_engine_options *o, void *bytes, size_t n, zp_error *err)
{
  const int failed = o->exchange(o->exchange_ctx, o->rank, bytes, n);
  if (!failed) return ZP_OK;
  return zp_fail(err, ZP_E_PEER, o->rank,
                 "rank %d: options.exchange failed (it returned %d): were all %d ranks started?",
                 (int)o->rank, failed, (int)o->world);
}

static void name_of(const void *ctx, int32_t j, char *text, int64_t cap)
{
  zp_engine_name(ctx, j, text, cap);
}

/* Collective if all ranks run this program. The lists are exchanged even if they are equal, as
 * rank 0 does not learn what other ranks have. */
static int compare_with_first(const zp_engine_options *o, const shared *mine, const char *list,
                              zp_error *err)
{
  const zp_settings_lists none = {NULL, NULL};
  shared first = *mine;
  char *its = NULL;
  if (exchange(o, &first, sizeof first, err)) return err->status;
  if (!zp_settings_are(&first.settings) || first.list_bytes < 1 ||
      first.list_bytes > ZP_ENTRY_LIST_BYTES)
    return zp_settings_compare(&mine->settings, &first.settings, none, o->rank, err);
  its = calloc(1, (size_t)first.list_bytes);
  if (!its)
    return zp_fail(err, ZP_E_MEMORY, o->rank, "rank %d: no memory for rank 0's parameter list",
                   (int)o->rank);
  if (o->rank == 0) memcpy(its, list, (size_t)first.list_bytes);
  if (exchange(o, its, (size_t)first.list_bytes, err) == ZP_OK) {
    its[first.list_bytes - 1] = 0;
    zp_settings_compare(&mine->settings, &first.settings, (zp_settings_lists){list, its}, o->rank,
                        err);
  }
  free(its);
  return err->status;
}

int zp_engine_agree(const zp_engine_options *o, uint64_t *word, zp_error *err)
{
  shared mine;
  char *list;
  *word = zp_ckpt_word();
  if (o->world == 1) return ZP_OK;
  list = zp_entry_list_text(o->config, name_of, o);
  if (!list)
    return zp_fail(err, ZP_E_MEMORY, o->rank, "rank %d: no memory for its parameter list",
                   (int)o->rank);
  zp_settings_begin(&mine.settings, "a program with zp_engine_create");
  zp_settings_add_config(&mine.settings, o->config, hash_names(o));
  zp_settings_add_hyper(&mine.settings, &o->hyper, o->config->precision);
  zp_settings_add(&mine.settings, "options.ordered", "%d", (int)o->ordered);
  mine.list_bytes = (int64_t)strlen(list) + 1;
  compare_with_first(o, &mine, list, err);
  free(list);
  return err->status ? err->status : exchange(o, word, sizeof *word, err);
}
