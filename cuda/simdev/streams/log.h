/* The log of a simulation's stream events (conformance/TRACE.md, "Stream events").
 *
 * log.c replaces ThreadSanitizer's runtime: a program whose objects were compiled for the sanitizer
 * is linked with log.o and libsimdev_tsan.a instead, and logs the calls that the sanitizer would
 * have got. Ranges are the bytes that kernels, copies and communications accessed. */
#ifndef ZP_SIMDEV_STREAMS_LOG_H
#define ZP_SIMDEV_STREAMS_LOG_H
#include <stdint.h>

/* Logs the next run of a simulation, all ranks in one file, DIR/streams-0.jsonl; later runs are not
 * logged. phase_of: the phase that an item of a rank belongs to, by the item's tag; the check uses
 * "step" and "exchange"; NULL: no phase. 0; -1: the file cannot be written. */
int simdev_log_open(const char *dir, const char *(*phase_of)(int32_t rank, int64_t tag));

/* Writes the log; 0, or -1: it could not be written, or no run was logged. */
int simdev_log_close(void);

#endif
