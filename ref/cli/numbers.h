/* Numbers from the command line and from files. */
#ifndef ZP_CLI_NUMBERS_H
#define ZP_CLI_NUMBERS_H

#include <stdint.h>

#include "../num/scaler.h"

/* "4096", "4Ki", "16Mi", "2Gi", "1Ti" (powers of 1024); 0, or -1 for anything else. */
int zp_parse_count(const char *text, int64_t *value);

/* "1024" (static) or "dynamic[:init=65536,window=1000,min=1,max=…,hysteresis=2,consecutive=0]".
 * 0, or -1 with the reason in why. */
int zp_parse_loss_scale(const char *text, zp_scaler *scaler, char *why, int64_t cap);

#endif
