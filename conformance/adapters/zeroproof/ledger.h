/* The ledgers that the adapter publishes: conformance/ADAPTER.md, "Ledgers". */
#ifndef ZP_CONFORMANCE_LEDGER_H
#define ZP_CONFORMANCE_LEDGER_H

#include <stdio.h>

#include "../../../ref/verify/backend.h"

/* One file per rank. file NULL: ledgers are not published. */
typedef struct zp_publisher {
  const zp_config *cfg;
  int32_t replicas; /* R, at least 1 */
  FILE **file;      /* [world] */
  int32_t world;
} zp_publisher;

/* folder NULL: none. 0, or -1: a file cannot be written. */
int zp_publisher_open(zp_publisher *p, const zp_config *cfg, int32_t replicas, const char *folder);
/* 0, or -1: not all of it could be written. */
int zp_publisher_close(zp_publisher *p);
void zp_publish_step(const zp_publisher *p, int32_t rank, int32_t step);
/* The rank has finished the case. */
void zp_publish_end(const zp_publisher *p, int32_t rank);
/* A communication of a rank; a local op is not published. */
void zp_publish(const zp_publisher *p, const zp_issued *issued);

#endif
