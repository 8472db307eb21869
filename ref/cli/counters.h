/* `zeroproof counters`: what its files share. */
#ifndef ZP_CLI_COUNTERS_H
#define ZP_CLI_COUNTERS_H

#include <jansson.h>

#include "../verify/counters.h"

/* The share of the ideal traffic that a step may reach. */
#define ZP_COUNTERS_RATIO 1.15

/* A configuration and what a step of it counted. */
typedef struct zp_counters_row {
  zp_config cfg;
  int32_t native, offload, in_place;
  int32_t gradients; /* their dtype */
  zp_counters counted;
} zp_counters_row;

/* The rows in short; one in full. */
void zp_counters_print_summary(const zp_counters_row *row, int32_t n);
void zp_counters_print(const zp_counters_row *r);
/* NULL: no memory. */
json_t *zp_counters_json(const zp_counters_row *r);

#endif
