/* The parts of NCCL's profiler plugin interface that are used here. Order and types follow
 * github.com/NVIDIA/nccl at NCCL 2.30.7: profiler_v5.h, profiler_v6.h and profiler.h in
 * plugins/profiler/example/nccl, documented in plugins/profiler/README.md. Versions 5 and 6
 * agree in these parts. */
#ifndef ZP_RECORDER_NCCL_PROFILER_H
#define ZP_RECORDER_NCCL_PROFILER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of events that init requests. */
enum { ZPT_ON_GROUP = 1 << 8, ZPT_ON_COLLECTIVE = 1 << 9, ZPT_ON_P2P = 1 << 10 };

/* The beginning of NCCL's event: kinds that are not requested need further fields. */
typedef struct zpt_event {
  uint64_t type;
  void *parent;
  int rank;
  union {
    struct {
      bool captured;
      int depth; /* of groups; above 1 if the program called ncclGroupStart */
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

/* All functions return 0, NCCL's success: an error of the recorder must not stop the program. */
typedef struct zpt_profiler {
  const char *name;
  int (*init)(void **context, uint64_t id, int *mask, const char *name, int nodes, int size,
              int comm_rank, void (*log)(int, unsigned long, const char *, int, const char *, ...));
  int (*start)(void *context, void **handle, const zpt_event *event);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *about);
  int (*finalize)(void *context);
} zpt_profiler;

#endif
