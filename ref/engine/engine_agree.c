/* The options of an engine, compared between ranks. spec: STEP-10 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine_parts.h"
#include "entry_list.h"
#include "settings.h"

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

/* Collective if all ranks run this program. The lists are exchanged even if they are equal, as
 * rank 0 does not learn what other ranks have. */
static int compare_with_first(const zp_engine_options *o, const zp_settings *mine, const char *list,
                              zp_error *err)
{
  zp_settings first = *mine;
  char *its = NULL;
  if (exchange(o, &first, sizeof first, err)) return err->status;
  const int64_t bytes = zp_settings_list_bytes(&first);
  if (bytes < 1 || bytes > ZP_ENTRY_LIST_BYTES) /* another program */
    return zp_settings_compare(mine, &first, (zp_settings_lists){NULL, NULL}, o->rank, err);
  its = calloc(1, (size_t)bytes);
  if (!its)
    return zp_fail(err, ZP_E_MEMORY, o->rank, "rank %d: no memory for rank 0's parameter list",
                   (int)o->rank);
  if (o->rank == 0) memcpy(its, list, (size_t)bytes);
  if (exchange(o, its, (size_t)bytes, err) == ZP_OK) {
    its[bytes - 1] = 0;
    zp_settings_compare(mine, &first, (zp_settings_lists){list, its}, o->rank, err);
  }
  free(its);
  return err->status;
}

int zp_engine_agree(const zp_engine_options *o, uint64_t *word, zp_error *err)
{
  zp_settings mine;
  char *list;
  *word = zp_ckpt_word();
  if (o->world == 1) return ZP_OK;
  list = zp_entry_list_text(o->config, o->names);
  if (!list)
    return zp_fail(err, ZP_E_MEMORY, o->rank, "rank %d: no memory for its parameter list",
                   (int)o->rank);
  zp_settings_begin(&mine, "a program with zp_engine_create");
  zp_settings_add_config(&mine, o->config, hash_names(o));
  zp_settings_add_hyper(&mine, &o->hyper, o->config->precision);
  zp_settings_add(&mine, "options.ordered", "%d", (int)o->ordered);
  zp_settings_add_list(&mine, (int64_t)strlen(list) + 1);
  compare_with_first(o, &mine, list, err);
  free(list);
  return err->status ? err->status : exchange(o, word, sizeof *word, err);
}
