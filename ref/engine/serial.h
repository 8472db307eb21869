/* serial: the oracle. One loop over the model's entries and all contributions, in the order that
 * the spec fixes; it knows no shards, buckets, groups or programs and shares nothing with ref/plan
 * but the configuration's fields. spec: RED-1 … RED-6, STAT-1 … STAT-5, STEP-6, STEP-7 */
#ifndef ZP_ENGINE_SERIAL_H
#define ZP_ENGINE_SERIAL_H

#include "rank.h"

typedef struct zp_serial zp_serial;

/* The model of `cfg` on one "rank". Of the topology dp, tp, ep say how many contributions
 * and copies there are; the ZeRO stage, the replicas, and the stages of a tied key's uses, the
 * order of additions. NULL after filling *err. */
zp_serial *zp_serial_open(const zp_config *cfg, const zp_hyper *hyper, const zp_workload *work,
                          zp_error *err);
void zp_serial_close(zp_serial *s);

/* Before step `until` the optimizer lacks this group (of the configuration's optgroups): it neither
 * updates its entries nor has state for them. Their gradients are computed all the same, and count
 * for norm and decision. Call it before the first step. */
void zp_serial_without_group(zp_serial *s, int32_t group, int64_t until);

/* One optimizer step; 0, or a negative status in *err. */
int zp_serial_step(zp_serial *s, zp_step_result *result, zp_error *err);

/* State of entry j, copy (tp, ep): ZP_WHAT_PARAMETER gives the precision's bits, the other kinds
 * fp32 (ZP_WHAT_GRADIENT: the reduced gradient of the last step, still scaled). NULL for a kind
 * that a frozen entry does not have. */
const void *zp_serial_get(const zp_serial *s, int32_t what, int32_t param, int32_t tp, int32_t ep);

#endif
