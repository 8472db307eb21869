/* A job's description. Not installed. */
#ifndef ZP_BINDING_BINDING_INTERNAL_H
#define ZP_BINDING_BINDING_INTERNAL_H

#include "../engine/checkpoint.h"
#include "../engine/rank.h"
#include "binding.h"

typedef struct entry_name {
  char text[ZP_CKPT_NAME];
} entry_name;

struct zp_binding {
  zp_config cfg;
  zp_param *param; /* [cfg.n_params] */
  entry_name *own_name;
  const char **name;
  const void **first;
  int32_t room; /* of the four */
  zp_engine_options o;
  zp_engine *e;
  zp_error err;
  zp_hook hook;
  void (*entering)(const char *, const char *, const char *, int64_t, int32_t, const char *);
};

#endif
