/* Calls a profiler plugin as NCCL does, for one rank of three: nccl_profiler_driver PLUGIN
 * VERSION RANK FAULT. Rank 1 has the fault; "both" makes the process two ranks. */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../conformance/recorder/nccl_profiler.h"

/* The layout of NCCL 2.30.7's headers on 64 bits. */
static_assert(offsetof(zpt_event, parent) == 8 && offsetof(zpt_event, rank) == 16, "head");
static_assert(offsetof(zpt_event, group.depth) == 28, "group");
static_assert(offsetof(zpt_event, collective.function) == 24, "function");
static_assert(offsetof(zpt_event, collective.count) == 32, "count");
static_assert(offsetof(zpt_event, collective.dtype) == 40, "dtype");
static_assert(offsetof(zpt_event, collective.root) == 48, "root");
static_assert(offsetof(zpt_event, p2p.dtype) == 40, "p2p");

static const zpt_profiler *plugin;
static const char *fault;
static int rank;

static int has_fault(const char *name)
{
  return rank == 1 && strcmp(fault, name) == 0;
}

/* NCCL's events are longer than the part that the plugin reads. */
typedef union event {
  zpt_event e;
  char room[112];
} event;

static void report_event(void *context, event *v)
{
  void *handle = NULL;
  plugin->start(context, &handle, &v->e);
  if (handle != NULL) plugin->stop(handle);
}

static void collective(void *context, const char *function, size_t count, const char *dtype,
                       int root)
{
  event v = {.e = {.type = ZPT_ON_COLLECTIVE}};
  v.e.collective.function = function;
  v.e.collective.count = count;
  v.e.collective.dtype = dtype;
  v.e.collective.root = root;
  report_event(context, &v);
}

static void p2p(void *context, const char *function, size_t count)
{
  event v = {.e = {.type = ZPT_ON_P2P}};
  v.e.p2p.function = function;
  v.e.p2p.count = count;
  v.e.p2p.dtype = "ncclFloat16";
  report_event(context, &v);
}

static void *group(void *context, int depth)
{
  void *handle = NULL;
  event v = {.e = {.type = ZPT_ON_GROUP}};
  v.e.group.depth = depth;
  plugin->start(context, &handle, &v.e);
  return handle;
}

static void *communicator(uint64_t id, int size, int comm_rank)
{
  void *context = NULL;
  int mask = 0;
  if (plugin->init(&context, id, &mask, "name", 1, size, comm_rank, NULL)) exit(4);
  if (mask != 0x700) exit(5);
  return context;
}

static void step(void *world, void *pair)
{
  if (!has_fault("skip"))
    collective(world, has_fault("op") ? "AllGather" : "AllReduce", has_fault("count") ? 99 : 100,
               has_fault("dtype") ? "ncclBfloat16" : "ncclFloat32", 0);
  collective(world, "Broadcast", 7, "ncclInt8", has_fault("root") ? 0 : 2);
  void *g = group(world, 2); /* ranks may enter its operations in different orders */
  if (rank == 0) collective(pair, "ReduceScatter", 9, "ncclUint8", 0);
  collective(world, "AlltoAll", 5, "ncclFloat8e4m3", 0);
  if (rank == 1) collective(pair, "ReduceScatter", 9, "ncclUint8", 0);
  p2p(world, "Send", 3);
  p2p(world, "Recv", 3);
  if (g != NULL) plugin->stop(g);
  plugin->stop(group(world, 1));
  collective(world, "PutSignal", 1, "ncclInt8", 0);
}

int main(int argc, char **argv)
{
  if (argc < 5) return 2;
  rank = atoi(argv[3]);
  fault = argv[4];
  for (int times = 0; times < 2; times++) { /* NCCL closes the plugin with the last communicator */
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    char name[32];
    snprintf(name, sizeof name, "ncclProfiler_v%s", argv[2]);
    plugin = library ? dlsym(library, name) : NULL;
    if (plugin == NULL) return 3;
    void *world = communicator(0xabcdef0123456789 + (uint64_t)times, 3, rank);
    void *pair = rank < 2 ? communicator(0x42, 2, rank) : NULL;
    void *other =
        has_fault("both") ? communicator(0xabcdef0123456789 + (uint64_t)times, 3, 2) : NULL;
    for (int i = 0; i < 2; i++) step(world, pair);
    if (other != NULL) collective(other, "AllReduce", 1, "ncclFloat32", 0);
    plugin->finalize(world);
    if (pair != NULL) plugin->finalize(pair);
    dlclose(library);
  }
  return 0;
}
