/* Operands: the memory that makes one piece of work wait for another. */
#ifndef ZP_HAPPENS_BEFORE_OPERAND_H
#define ZP_HAPPENS_BEFORE_OPERAND_H

/* Memory that only one stream uses is not listed: the stream orders it. Number k of those from
 * ZP_ON_FLAT on, ZP_ON_EACH k + one of these: the sums of flat group k, bucket slot k, the means of
 * flat group k, and the rank's parts of its array of parameters (STEP-8), padding included. */
enum { ZP_ON_SUMS, ZP_ON_SLOT, ZP_ON_MEANS, ZP_ON_PARTS, ZP_ON_EACH };

typedef enum zp_operand {
  ZP_ON_STREAM, /* not memory: one piece at a time on a stream */
  ZP_ON_LINK,   /* not memory: one communication at a time on a rank's link */
  ZP_ON_HOST,   /* not memory: the host waited before it issued more */
  ZP_ON_MEMBERS,
  ZP_ON_PARAMS,
  ZP_ON_STATE, /* step count, loss scale, decision */
  ZP_ON_LOSS,
  ZP_ON_ACT_IN, /* by activation slot */
  ZP_ON_ACT_OUT,
  ZP_ON_GRAD_IN,
  ZP_ON_GRAD_OUT,
  ZP_ON_RAW,     /* the gradients that backward writes */
  ZP_ON_BUFFER,  /* the announced buffers, by producer stream */
  ZP_ON_STAGING, /* the ring of early gradients, by bytes */
  ZP_ON_TALLY,   /* the flag of non-finite contributions */
  ZP_ON_LANDING, /* offload: the two buffers of parameters that are copied back */
  ZP_ON_FLAT
} zp_operand;

#endif
