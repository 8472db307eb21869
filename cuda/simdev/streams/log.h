/* The log of stream events of a simulation (conformance/TRACE.md, "Stream events").
 *
 * log.c takes ThreadSanitizer's place: a program whose objects were compiled for it, linked with
 * log.o and libsimdev_tsan.a instead of the sanitizer's runtime, writes down what the sanitizer would
 * have been told. Ranges are what kernels, copies and communications really touched, byte by byte. */
#ifndef ZP_SIMDEV_STREAMS_LOG_H
#define ZP_SIMDEV_STREAMS_LOG_H
#include <stdint.h>

/* From here on the next run of a simulation is logged, all ranks in one file, DIR/streams-0.jsonl; later
 * runs are not. 0; -1: the file cannot be written. */
int simdev_log_open(const char *dir);

/* Writes what the run has left; 0, or -1 when it could not be written, or no run was logged. */
int simdev_log_close(void);

/* A program may say which phase of its work an item of a rank belongs to, by what simdev_tag had said
 * when it was issued: "step" and "exchange" are what the check asks for. NULL: none. */
const char *simdev_log_phase(int32_t rank, int64_t tag, const char *name);

#endif
