/* The hosts of a job, for `train --json`. */
#include <stdlib.h>
#include <string.h>

#include "train_session.h"

/* One host's entry, made when its first rank comes. */
static json_t *entry_of(json_t *hosts, const char *name)
{
  size_t i;
  json_t *one;
  json_array_foreach(hosts, i, one) if (strcmp(json_string_value(json_object_get(one, "host")),
                                               name) == 0) return one;
  one = json_pack("{s:s, s:[], s:I}", "host", name, "ranks", "sent_to_other_hosts", (json_int_t)0);
  json_array_append_new(hosts, one);
  return one;
}

int zp_train_put_hosts(zp_train_session *s)
{
  const int32_t world = zp_mpi_size(s->mpi);
  const int64_t mine = zp_mpi_sent_between(s->mpi);
  int64_t *sizes = calloc((size_t)world, sizeof *sizes);
  void *all = NULL;
  if (zp_mpi_hosts(s->mpi) < 2 || sizes == NULL) {
    free(sizes);
    return 0;
  }
  const int status = zp_mpi_gather_bytes(s->mpi, &mine, sizeof mine, &all, sizes, &s->err);
  if (all != NULL) {
    json_t *hosts = json_array();
    for (int32_t k = 0; k < world; k++) {
      json_t *one = entry_of(hosts, zp_mpi_host(s->mpi, k));
      json_t *sent = json_object_get(one, "sent_to_other_hosts");
      json_array_append_new(json_object_get(one, "ranks"), json_integer(k));
      json_integer_set(sent, json_integer_value(sent) + ((const int64_t *)all)[k]);
    }
    json_object_set_new(s->doc, "hosts", hosts);
  }
  free(all);
  free(sizes);
  return status;
}
