/* The table of faults. A race breaks a clause of spec/streams.md; its effect on the results depends
 * on the order of execution. */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "faults_found.h"
#include "state.h"

#define FAULT(id_, text, where, which, does, ...)                                                  \
  {                                                                                                \
    .fault = {.name = (text),                                                                      \
              .source = (where),                                                                   \
              .clause = (which),                                                                   \
              .what = (does),                                                                      \
              .example = ZP_FOUND_##id_},                                                          \
    .found_as = {ZP_FOUND_##id_##_AS}, .id = #id_, __VA_ARGS__                                     \
  }

/* In the engine; the order of a sync point is missing. */
#define NAMED(id_, text, site, where, which, does)                                                 \
  FAULT(id_, text, where, which, does, .missing = ZP_SYNC_##site,                                  \
        .injection = {.mistake = ZP_INJECT_##id_, .rank = -1})

/* The missing order is not a sync point's, but that of a stream. */
#define OTHER(id_, text, lacks, where, which, does)                                                \
  FAULT(id_, text, where, which, does, .instead = (lacks),                                         \
        .injection = {.mistake = ZP_INJECT_##id_, .rank = -1})

#define DROPPED(id_, text, which, why)                                                             \
  FAULT(id_, "drop-sync:" text,                                                                    \
        "each wait and record of the engine (cuda/engine/device/sync_points.h)", which,            \
        "dropped: " why, .missing = ZP_SYNC_##id_,                                                 \
        .injection = {.sync_point = ZP_SYNC_##id_, .rank = -1}),

/* Of the model, on rank 0, which every case has. */
#define MODELS(member, id_, text, where, does)                                                     \
  FAULT(id_, text, where, "STEP-3", does, .injection = {.rank = -1}, .member = 1)

static const zp_cuda_fault table[] = {
    MODELS(forgets, FORGOTTEN, "forgotten", "DeepSpeed #7595",
           "a hook is missing: rank 0 announces one gradient too few in the last step"),
    MODELS(repeats, ANNOUNCED_TWICE, "announced-twice", "hooks registered twice",
           "rank 0 announces one gradient twice in the last step"),
    NAMED(ONE_PRODUCER, "pr8080", COPIED_WAIT, "DeepSpeed #8061, fixed by #8080", "STRM-1",
          "a bucket's reduction waits for one of the streams that filled it"),
    NAMED(COMPUTE_ONLY, "wrong-stream", COPIED_WAIT, "DeepSpeed #7898", "STRM-1",
          "it waits for the compute stream, and other streams were the producers"),
    NAMED(ONE_EVENT, "one-event", COPIED_RECORD, "CUDA: a record hides the event's earlier one",
          "STRM-1", "all producers of a bucket record one event, so that the last one counts"),
    NAMED(PRODUCERS_KEPT, "kept-set", COPIED_RECORD,
          "DeepSpeed #8080's requirement: the set is emptied with the bucket", "STRM-1",
          "the set of producers is kept, and a producer in it is not recorded again"),
    NAMED(FIRST_BATCH, "first-batch", COPIED_WAIT, "InfiniTrain #213", "STRM-1",
          "producers are waited for in the window's first micro-batch only: a flag is kept"),
    NAMED(REFILL, "refill", FREE_WAIT, "DeepSpeed #5523, fixed by #5606; #3727", "STRM-2",
          "a slot is refilled while the reduction of its earlier contents reads it"),
    NAMED(SLOT_RESET, "slot-reset", FREE_WAIT, "DeepSpeed #7188, #7371, #7804, fixed by #7805",
          "STRM-2",
          "the slot's index is reset: all buckets share one slot, and wait for the other one"),
    OTHER(EARLY_FREE, "early-free",
          "compute waits, before it refills the memory, for the reduction that reads it",
          "DeepSpeed #7965", "STRM-2",
          "compute reuses a bucket's memory as soon as its reduction is queued"),
    OTHER(
        SHARED_BUFFER, "shared-buffer",
        "reduce waits, before it receives into the other bucket slot, for the streams that fill it",
        "Megatron-LM #4609", "STRM-2",
        "data of other ranks are received in the buffer that gradients are copied to"),
    NAMED(NO_P2P_WAIT, "no-p2p-wait", NEXT_WAIT,
          "ColossalAI #6091, #4402 (the class: a missing stream synchronization)", "STRM-3",
          "a stage computes without waiting for its exchanges"),
    NAMED(UNSETTLED, "early-event", NEXT_RECORD, "NCCL: non-blocking calls enqueue later", "STRM-3",
          "an exchange's event is recorded while NCCL returns ncclInProgress"),
    OTHER(GATHER_EARLY, "gather-before-update",
          "p2p waits, before it gathers, for the update on reduce",
          "ColossalAI #6091, #4402 (the class: a missing stream synchronization)", "STRM-4",
          "parameters are gathered without waiting for the updates that write them"),
    NAMED(NO_STEP_WAIT, "no-step-wait", ENDED_WAIT,
          "ColossalAI #6091, #4402 (the class: wrong only on loaded devices)", "STRM-4",
          "the next step's forward does not wait for updates and gathers"),
    NAMED(HOST_READ, "host-read", READ_HOST,
          "the class of non-blocking copies to the host that are read too early", "STRM-6",
          "the host reads a step's state before its copy has ended"),
    OTHER(UNLOADED, "lazy-load",
          "the host loads all kernels when the engine is opened, before it launches any",
          "CUDA: loading a kernel may synchronize with the device", "STRM-7",
          "kernels are loaded at their first launch, while communication runs"),
    NAMED(ORDER_LATE, "late-order", ORDER_WAIT,
          "NCCL: a variable is read once (NCCL_LAUNCH_ORDER_IMPLICIT)", "STRM-5",
          "the engine leaves the order of communications to NCCL, but sets its variable too late"),
    FAULT(WHOLE_STREAM, "whole-stream", "DeepSpeed #8364", "wait",
          "each gradient waits for all queued work of the reduction stream: the bits are "
          "right, but the step takes longer",
          .injection = {.rank = -1}, .waits_for_all = 1),
    ZP_CUDA_SYNC_POINTS(DROPPED)};

enum { FAULTS = sizeof table / sizeof *table };

int32_t zp_cuda_fault_count(void)
{
  return FAULTS;
}

const zp_fault *zp_cuda_fault_at(int32_t i)
{
  return i >= 0 && i < FAULTS ? &table[i].fault : NULL;
}

/* SITE or SITE:K */
static const zp_fault *find_dropped(const char *text)
{
  static zp_cuda_fault some;
  static char name[64];
  const char *colon = strchr(text, ':');
  const size_t n = colon ? (size_t)(colon - text) : strlen(text);
  char site_name[32], *end;
  int32_t site;
  if (n == 0 || n >= sizeof site_name) return NULL;
  memcpy(site_name, text, n);
  site_name[n] = 0;
  site = zp_cuda_sync_point_find(site_name);
  if (site == ZP_SYNC_NONE) return NULL;
  some = table[FAULTS - ZP_SYNC_END + site];
  if (!colon) return &table[FAULTS - ZP_SYNC_END + site].fault;
  some.injection.nth = strtoll(colon + 1, &end, 10);
  if (end == colon + 1 || *end || some.injection.nth < 1) return NULL;
  snprintf(name, sizeof name, "drop-sync:%s:%lld", zp_cuda_sync_point_name(site),
           (long long)some.injection.nth);
  some.fault.name = name;
  return &some.fault;
}

const zp_fault *zp_cuda_fault_find(const char *name)
{
  if (strncmp(name, "drop-sync:", 10) == 0) return find_dropped(name + 10);
  for (int32_t i = 0; i < FAULTS; i++)
    if (strcmp(table[i].fault.name, name) == 0) return &table[i].fault;
  return NULL;
}

/* Sync points that only a caller's own loop reaches. */
static int is_of_own_loop(int32_t site)
{
  return site == ZP_SYNC_CALLER_LOSS_RECORD || site == ZP_SYNC_CALLER_LOSS_WAIT ||
         site == ZP_SYNC_CALLER_RECORD || site == ZP_SYNC_RESUMED_WAIT;
}

const char *zp_cuda_fault_hidden(const zp_fault *fault, int32_t adapter)
{
  const zp_cuda_fault *f = zp_cuda_fault_of(fault);
  const int32_t site = f->injection.sync_point;
  if (!adapter) return NULL;
  if (f->waits_for_all) return "only the happens-before check finds it";
  if (is_of_own_loop(site)) return "it is in a loop of the caller's own";
  if (site == ZP_SYNC_ENDED_HOST) return "it changes the number of steps in flight, not results";
  return NULL;
}

/* Some schedules with one host a rank, with several, and with a loop of the caller's own. */
static int is_offloaded(uint64_t number)
{
  return number % ZP_SCHEDULE_PLAIN == 2 || number % (2 * ZP_SCHEDULE_PLAIN) == 7 ||
         number % (4 * ZP_SCHEDULE_PLAIN) == 13 || number % (4 * ZP_SCHEDULE_PLAIN) == 8;
}

static int allows_partial(const zp_case *c)
{
  return c->cfg.stage > 0 && c->entry_align * zp_dtype_bytes(c->cfg.precision) % ZP_VIEW_BYTES == 0;
}

zp_schedule zp_case_schedule(const zp_case *c, uint64_t number, const zp_cuda_fault *fault)
{
  zp_schedule s = zp_schedule_of(number);
  s.native = zp_sums_are_exact_in_any_order(c) && number % 2 == 1;
  s.offload = c->offload;
  if (!fault) { /* with a fault there is one host, as in the orders of faults_found.h */
    s.hosts = s.alarm = number % ZP_SCHEDULE_PLAIN == 3;
    s.own_loop = number % (2 * ZP_SCHEDULE_PLAIN) == 5 && c->cfg.pp == 1;
    s.offload |= is_offloaded(number);
    s.gradual = number % (2 * ZP_SCHEDULE_PLAIN) == 1;
    s.in_place = number % 3 == 1;
    s.many_streams = number % ZP_SCHEDULE_PLAIN != 0 && number % 5 == 3;
    s.early = number % 4 == 2 && !s.hosts;
    s.unused_early = number % 5 == 4 && !s.own_loop;
    s.partial_gather = number % 3 == 2 && allows_partial(c);
    return s;
  }
  s.inject = &fault->injection;
  s.offload |= zp_cuda_sync_point_offloads(fault->injection.sync_point);
  s.partial_gather = zp_cuda_sync_point_partial(fault->injection.sync_point);
  s.forgets = fault->forgets;
  s.repeats = fault->repeats;
  s.waits_for_all = s.path = fault->waits_for_all; /* only the happens-before check finds it */
  s.count_flight = fault->injection.sync_point == ZP_SYNC_ENDED_HOST;
  s.own_loop = is_of_own_loop(fault->injection.sync_point);
  return s;
}
