/* Outcomes: a code for the program and one message for a person. A library never prints or exits;
 * on error outputs are untouched unless a function says otherwise. */
#ifndef ZP_BASE_ERROR_H
#define ZP_BASE_ERROR_H

#include <stdint.h>

typedef enum zp_status {
  ZP_OK = 0,
  ZP_E_REFUSED = -1, /* the input is out of the documented limits */
  ZP_E_MEMORY = -2,
  ZP_E_MISMATCH = -3, /* members of a group issued different communications */
  ZP_E_DEADLOCK = -4, /* ranks wait for messages that no rank will send */
  ZP_E_ARRIVAL = -5,  /* a used entry's gradient did not arrive (STEP-3) */
  ZP_E_PEER = -6,     /* another rank failed, died, or did not answer before the deadline */
  ZP_E_WORKLOAD = -7, /* the workload refused an activation */
  ZP_E_FILE = -8,     /* a file could not be read or written, or is damaged */
  ZP_E_VERDICT = -9,  /* two things that must be equal are not */
  ZP_E_DEVICE = -10,  /* a call of CUDA or NCCL failed */
  ZP_E_INTERNAL = -11 /* an invariant of zeroproof's own state does not hold */
} zp_status;

enum { ZP_MESSAGE_BYTES = 8192 };

typedef struct zp_error {
  int32_t status; /* zp_status */
  int32_t rank;   /* the rank at fault, or -1 */
  char text[ZP_MESSAGE_BYTES];
} zp_error;

/* Sets *err (printf-like) and returns status; keeps the first error when one is already there. */
int zp_fail(zp_error *err, int32_t status, int32_t rank, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends to the text of *err, truncating at its end. */
void zp_error_append(zp_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Name of a status for machines: "ok", "refused", "mismatch", … */
const char *zp_status_name(int32_t status);

#endif
