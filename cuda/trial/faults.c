/* The table of planted mistakes. A race has no clause of its own to break but those of
 * spec/streams.md; what it does to the results is up to the order of execution. */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "found.h"
#include "trial_internal.h"

#define PLANTED(id_, text, where, which, does, ...)                                                \
  {                                                                                                \
    .fault = {.name = (text),                                                                      \
              .source = (where),                                                                   \
              .clause = (which),                                                                   \
              .what = (does),                                                                      \
              .first = ZP_FOUND_##id_},                                                            \
    .found_as = ZP_FOUND_##id_##_AS, .id = #id_, __VA_ARGS__                                       \
  }

/* In the engine; a site's order is missing. */
#define NAMED(id_, text, site, where, which, does)                                                 \
  PLANTED(id_, text, where, which, does, .missing = ZP_SITE_##site,                                \
          .planted = {.plant = ZP_PLANT_##id_, .rank = -1})

/* Where no site's order is missing, but one that the streams' own order gives. */
#define OTHER(id_, text, lacks, where, which, does)                                                \
  PLANTED(id_, text, where, which, does, .instead = (lacks),                                       \
          .planted = {.plant = ZP_PLANT_##id_, .rank = -1})

#define DROPPED(id_, text, which, why)                                                             \
  PLANTED(id_, "drop-sync:" text,                                                                  \
          "the engine's own waits and records, one by one (cuda/engine/sites.h)", which,           \
          "left out: " why, .missing = ZP_SITE_##id_,                                              \
          .planted = {.site = ZP_SITE_##id_, .rank = -1}),

/* Of the model; the rank is the first: every case has one. */
#define MODELS(member, id_, text, where, does)                                                     \
  PLANTED(id_, text, where, "STEP-3", does, .planted = {.rank = -1}, .member = 1)

static const zp_twin_fault table[] = {
    MODELS(forgets, FORGOTTEN, "forgotten", "DeepSpeed #7595",
           "a hook is gone: rank 0 announces one gradient too few in the last step"),
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
          "the set of producers stays as it was, and who is in it is not recorded again"),
    NAMED(FIRST_BATCH, "first-batch", COPIED_WAIT, "InfiniTrain #213", "STRM-1",
          "producers are waited for in the window's first micro-batch only: a flag is kept"),
    NAMED(REFILL, "refill", FREE_WAIT, "DeepSpeed #5523, fixed by #5606; #3727", "STRM-2",
          "a slot is refilled while the reduction of its earlier contents reads it"),
    NAMED(SLOT_RESET, "slot-reset", FREE_WAIT, "DeepSpeed #7188, #7371, #7804, fixed by #7805",
          "STRM-2", "the slot's index is set back: all buckets share one, and wait for the other"),
    OTHER(EARLY_FREE, "early-free",
          "compute, before it fills the memory anew, for the reduction that reads it",
          "DeepSpeed #7965", "STRM-2",
          "a bucket's memory is compute's again as soon as its reduction is queued"),
    OTHER(SHARED_BUFFER, "shared-buffer",
          "reduce, before it receives into the other slot, for the streams that fill that",
          "Megatron-LM #4609", "STRM-2",
          "what comes from other ranks is put into the buffer that gradients are copied to"),
    NAMED(NO_P2P_WAIT, "no-p2p-wait", NEXT_WAIT,
          "ColossalAI #6091, #4402 (the class: a stream synchronization too few)", "STRM-3",
          "a stage computes without waiting for its exchanges"),
    NAMED(UNSETTLED, "early-event", NEXT_RECORD, "NCCL: non-blocking calls enqueue later", "STRM-3",
          "an exchange's event is recorded while NCCL says ncclInProgress"),
    OTHER(GATHER_EARLY, "gather-before-update", "p2p, before it gathers, for the update on reduce",
          "ColossalAI #6091, #4402 (the class: a stream synchronization too few)", "STRM-4",
          "parameters are gathered without waiting for the updates that make them"),
    NAMED(NO_STEP_WAIT, "no-step-wait", ENDED_WAIT,
          "ColossalAI #6091, #4402 (the class: wrong only on loaded devices)", "STRM-4",
          "the next step's forward does not wait for updates and gathers"),
    NAMED(HOST_READ, "host-read", READ_HOST,
          "the class of non-blocking copies to the host that are read too early", "STRM-6",
          "the host reads a step's state before its copy has ended"),
    OTHER(UNLOADED, "lazy-load",
          "the host, before it launches: code is loaded when the engine is opened",
          "CUDA: loading a kernel may synchronize with the device", "STRM-7",
          "kernels are loaded when they are launched first, beside communication"),
    NAMED(ORDER_LATE, "late-order", ORDER_WAIT,
          "NCCL: a variable is read once (NCCL_LAUNCH_ORDER_IMPLICIT)", "STRM-5",
          "the engine leaves the order of communications to NCCL, which it tells so too late"),
    PLANTED(WHOLE_STREAM, "whole-stream", "DeepSpeed #8364", "wait",
            "each gradient waits for all that is queued on the reduction stream: the bits are "
            "right, and time is lost",
            .planted = {.rank = -1}, .waits_for_all = 1),
    ZP_CUDA_SITES(DROPPED)};

enum { FAULTS = sizeof table / sizeof *table };

int32_t zp_twin_fault_count(void)
{
  return FAULTS;
}

const zp_fault *zp_twin_fault_at(int32_t i)
{
  return i >= 0 && i < FAULTS ? &table[i].fault : NULL;
}

/* SITE or SITE:K */
static const zp_fault *find_dropped(const char *text)
{
  static zp_twin_fault some;
  static char name[64];
  const char *colon = strchr(text, ':');
  const size_t n = colon ? (size_t)(colon - text) : strlen(text);
  char site_name[32], *end;
  int32_t site;
  if (n == 0 || n >= sizeof site_name) return NULL;
  memcpy(site_name, text, n);
  site_name[n] = 0;
  site = zp_cuda_site_find(site_name);
  if (site == ZP_SITE_NONE) return NULL;
  some = table[FAULTS - ZP_SITE_END + site];
  if (!colon) return &table[FAULTS - ZP_SITE_END + site].fault;
  some.planted.nth = strtoll(colon + 1, &end, 10);
  if (end == colon + 1 || *end || some.planted.nth < 1) return NULL;
  snprintf(name, sizeof name, "drop-sync:%s:%lld", zp_cuda_site_name(site),
           (long long)some.planted.nth);
  some.fault.name = name;
  return &some.fault;
}

const zp_fault *zp_twin_fault_find(const char *name)
{
  if (strncmp(name, "drop-sync:", 10) == 0) return find_dropped(name + 10);
  for (int32_t i = 0; i < FAULTS; i++)
    if (strcmp(table[i].fault.name, name) == 0) return &table[i].fault;
  return NULL;
}

/* Sites that only a caller's own loop comes to. */
static int is_of_own_loop(int32_t site)
{
  return site == ZP_SITE_GIVEN_RECORD || site == ZP_SITE_GIVEN_WAIT ||
         site == ZP_SITE_HANDED_RECORD || site == ZP_SITE_RESUMED_WAIT;
}

/* Of one host a rank, in callbacks; of several; and of a loop of the caller's own. */
static int is_offloaded(uint64_t number)
{
  return number % ZP_TRIAL_PLAIN == 2 || number % (2 * ZP_TRIAL_PLAIN) == 7 ||
         number % (4 * ZP_TRIAL_PLAIN) == 13;
}

zp_trial_schedule zp_twin_schedule(const zp_case *c, uint64_t number, const zp_twin_fault *fault)
{
  zp_trial_schedule s = zp_trial_schedule_of(number);
  s.native = zp_trial_any_order(c) && number % 2 == 1;
  s.offload = c->offload;
  if (!fault) { /* not with one: found.h names orders of one host */
    s.hosts = s.alarm = number % ZP_TRIAL_PLAIN == 3;
    s.own_loop = number % (2 * ZP_TRIAL_PLAIN) == 5 && c->cfg.pp == 1;
    s.offload |= is_offloaded(number);
    return s;
  }
  s.plant = &fault->planted;
  s.offload = zp_cuda_site_offloads(fault->planted.site);
  s.forgets = fault->forgets;
  s.repeats = fault->repeats;
  s.waits_for_all = s.path = fault->waits_for_all; /* which nothing else finds */
  s.count_flight = fault->planted.site == ZP_SITE_ENDED_HOST;
  s.own_loop = is_of_own_loop(fault->planted.site);
  return s;
}
