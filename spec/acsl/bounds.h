/* Names of the numbers in contracts: LIM-1 … LIM-11 and the clocks of PIPE-5. Each is one literal,
 * so that the provers read the number itself. */
#ifndef ZP_SPEC_ACSL_BOUNDS_H
#define ZP_SPEC_ACSL_BOUNDS_H

#define ZP_LIMIT_RANKS 1048576               /* 2^20, LIM-1; also members of a group, stages */
#define ZP_LIMIT_MICRO_BATCHES 1048576       /* 2^20, LIM-5 */
#define ZP_LIMIT_CONTRIBUTIONS 1099511627776 /* 2^40, of one exact sum, LIM-5 */
#define ZP_LIMIT_ELEMENTS 1099511627776      /* 2^40, LIM-6, LIM-7, LIM-9; also number of buckets */
#define ZP_LIMIT_ENTRIES 65536               /* 2^16, LIM-7; also flat groups of a stage */
#define ZP_LIMIT_TIED 1024                   /* 2^10, keys, and entries that have one, LIM-4 */
#define ZP_LIMIT_ALIGN 4096                  /* 2^12, LIM-6 */
#define ZP_LIMIT_ENTRY_ALIGN 4096            /* 2^12, LIM-11 */
#define ZP_LIMIT_LOSS_LIMB 4398046511104     /* 2^42, of a carried sum of 2^20 losses */

/* Clocks per entry, or per flat group in the update; per tied key or flat group in the sums and
 * means; per flat group in SAVE. PIPE-5 */
#define ZP_CLOCK_STRIDE 4398046511104 /* 2^42 */
#define ZP_SUM_STRIDE 2199023255552   /* 2^41 */
#define ZP_SAVE_STRIDE 8796093022208  /* 2^43 */

#endif
