#include "faults.h"

#include <string.h>

typedef struct planted {
  zp_fault fault;
  void (*plant)(zp_trial_schedule *s);
} planted;

/* The rank is the first: every case has one. */
static void forget(zp_trial_schedule *s)
{
  s->forgets = 1;
}

static void repeat(zp_trial_schedule *s)
{
  s->repeats = 1;
}

static const planted all[] = {
    {{.name = "forgotten",
      .source = "DeepSpeed issue #7595",
      .clause = "STEP-3",
      .what = "a hook is gone: rank 0 announces one gradient too few in the last step",
      .first = "pp=2,dp=2,M=2,stage=2,bucket=4,steps=2,list=5@0.0+7@0.0+6@1.0"},
     forget},
    {{.name = "announced-twice",
      .source = "hooks registered twice",
      .clause = "STEP-3",
      .what = "rank 0 announces one gradient twice in the last step",
      .first = "pp=2,dp=2,M=2,stage=2,bucket=4,steps=2,list=5@0.0+7@0.0+6@1.0"},
     repeat},
};

int32_t zp_twin_fault_count(void)
{
  return (int32_t)(sizeof all / sizeof *all);
}

const zp_fault *zp_twin_fault_at(int32_t i)
{
  return &all[i].fault;
}

const zp_fault *zp_twin_fault_find(const char *name)
{
  for (int32_t i = 0; i < zp_twin_fault_count(); i++)
    if (strcmp(all[i].fault.name, name) == 0) return &all[i].fault;
  return NULL;
}

void zp_twin_plant(const zp_fault *fault, zp_trial_schedule *s)
{
  for (int32_t i = 0; i < zp_twin_fault_count(); i++)
    if (&all[i].fault == fault) all[i].plant(s);
}
