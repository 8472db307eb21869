/* What of NCCL's profiler plugin interface is used, in the order and with the types that
 * github.com/NVIDIA/nccl has, at NCCL 2.30.7, in plugins/profiler/example/nccl/profiler_v5.h,
 * profiler_v6.h and profiler.h, and explains in plugins/profiler/README.md. Versions 5 and 6 are
 * the same in all of it. */
#ifndef ZP_RECORDER_NCCL_PROFILER_H
#define ZP_RECORDER_NCCL_PROFILER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of events, which init asks for. */
enum { ZPT_ON_GROUP = 1 << 8, ZPT_ON_COLLECTIVE = 1 << 9, ZPT_ON_P2P = 1 << 10 };

/* NCCL's own is longer: kinds of events that are not asked for need more. */
typedef struct zpt_event {
  uint64_t type;
  void *parent;
  int rank;
  union {
    struct {
      bool captured;
      int depth; /* of groups; above 1 the program asked for one */
    } group;
    struct {
      const char *function; /* "AllReduce" */
      size_t count;
      const char *dtype; /* "ncclFloat32" */
      int root;
      void *stream;
      bool captured;
    } collective;
    struct {
      const char *function;
      size_t count;
      const char *dtype;
      void *stream;
      bool captured;
    } p2p;
  };
} zpt_event;

/* What each returns is 0, NCCL's success: what goes wrong here is no reason to stop a run. */
typedef struct zpt_profiler {
  const char *name;
  int (*init)(void **context, uint64_t id, int *mask, const char *name, int nodes, int size,
              int place, void (*log)(int, unsigned long, const char *, int, const char *, ...));
  int (*start)(void *context, void **handle, const zpt_event *event);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *about);
  int (*finalize)(void *context);
} zpt_profiler;

#endif
