/* The record of a run: items, edges, sync calls; and the injected faults. */
#ifndef ZP_SIMDEV_RECORD_H
#define ZP_SIMDEV_RECORD_H
#include "base.h"

typedef struct sd_recorder {
  simdev_record *item;
  simdev_edge *edge;
  simdev_sync *sync;
  int64_t item_n, item_cap, edge_n, edge_cap, sync_n, sync_cap;
} sd_recorder;

typedef struct sd_named_calls {
  simdev_call_count *list;
  int64_t n, cap;
} sd_named_calls;

/* A call of the host, with options.record. */
void sd_record_call(simdev *s, const sd_host *h);
void sd_record_item(simdev *s, const sd_item *item, int64_t end);
void sd_record_edge(simdev *s, simdev_edge_kind kind, const sd_item *from, const sd_item *to);
/* Notes a cudaEventRecord or cudaStreamWaitEvent; 1: a fault drops it. */
int sd_record_sync(simdev *s, const sd_host *h, const sd_stream *st, const sd_event *e,
                   sd_item *item);
/* At the end of a run: which waits made their streams wait. */
void sd_record_end(simdev *s);

typedef struct sd_faults {
  int64_t *seen; /* [fault_count][ranks] calls of the fault's name */
} sd_faults;

typedef enum { SD_FAULT_NONE, SD_FAULT_RETURNS, SD_FAULT_STOPS } sd_fault_effect;

/* fault.c. RETURNS: the call returns *e; STOPS: it never returns. */
sd_fault_effect sd_fault_call(simdev *s, sd_host *h, cudaError_t *e);
int sd_fault_drops(simdev *s, int32_t rank, int32_t n);
void sd_fault_stream(simdev *s, sd_stream *st);
cudaError_t sd_fault_item(simdev *s, const sd_item *item);

#endif
