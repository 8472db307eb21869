/* A backend as an adapter of the conformance suite: it answers the protocol of
 * conformance/ADAPTER.md. */
#ifndef ZP_CONFORMANCE_ADAPTER_H
#define ZP_CONFORMANCE_ADAPTER_H

#include <stdio.h>

#include "../../../ref/verify/backend.h"

/* Answers the requests on `in`, one JSON object a line, until `bye` or the end. fault: injected
 * into every case, or NULL; the adapter is then a mutant, which the suite must catch.
 * 0, or -1: an answer could not be written. */
int zp_adapter_serve(const zp_backend *backend, const zp_fault *fault, FILE *in, FILE *out);

#endif
