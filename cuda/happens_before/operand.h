/* Operands: the memory that makes one piece of work wait for another. */
#ifndef ZP_HAPPENS_BEFORE_OPERAND_H
#define ZP_HAPPENS_BEFORE_OPERAND_H

/* Memory that only one stream uses is not listed: the stream orders it. Flat group k has three more
 * operands: ZP_ON_FLAT + 3 k + (window, slot 0, 1). */
typedef enum zp_operand {
  ZP_ON_STREAM, /* not memory: one piece at a time on a stream */
  ZP_ON_LINK,   /* not memory: one communication at a time on a rank's link */
  ZP_ON_HOST,   /* not memory: the host waited before it issued more */
  ZP_ON_MEMBERS,
  ZP_ON_PARAMS,
  ZP_ON_PART,  /* of the parameters, padding too: what a gather sends, by flat group and bucket */
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
  ZP_ON_FLAT
} zp_operand;

#endif
