/* Does with a profiler plugin what NCCL does, of one rank of three: nccl_profiler_driver PLUGIN
 * VERSION RANK FAULT. Rank 1 errs; "both": the process is two ranks. */
#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../conformance/recorder/nccl_profiler.h"

/* As NCCL 2.30.7's headers have it on 64 bits. */
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

static int errs(const char *name)
{
  return rank == 1 && strcmp(fault, name) == 0;
}

/* NCCL's events are longer than what the plugin reads of them. */
typedef union event {
  zpt_event e;
  char room[112];
} event;

static void tell(void *context, event *v)
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
  tell(context, &v);
}

static void p2p(void *context, const char *function, size_t count)
{
  event v = {.e = {.type = ZPT_ON_P2P}};
  v.e.p2p.function = function;
  v.e.p2p.count = count;
  v.e.p2p.dtype = "ncclFloat16";
  tell(context, &v);
}

static void *group(void *context, int depth)
{
  void *handle = NULL;
  event v = {.e = {.type = ZPT_ON_GROUP}};
  v.e.group.depth = depth;
  plugin->start(context, &handle, &v.e);
  return handle;
}

static void *communicator(uint64_t id, int size, int place)
{
  void *context = NULL;
  int mask = 0;
  if (plugin->init(&context, id, &mask, "name", 1, size, place, NULL)) exit(4);
  if (mask != 0x700) exit(5);
  return context;
}

static void step(void *world, void *pair)
{
  if (!errs("skip"))
    collective(world, errs("op") ? "AllGather" : "AllReduce", errs("count") ? 99 : 100,
               errs("dtype") ? "ncclBfloat16" : "ncclFloat32", 0);
  collective(world, "Broadcast", 7, "ncclInt8", errs("root") ? 0 : 2);
  void *g = group(world, 2); /* what is in it has no order */
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
  for (int times = 0; times < 2; times++) { /* NCCL closes it with the last communicator */
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    char name[32];
    snprintf(name, sizeof name, "ncclProfiler_v%s", argv[2]);
    plugin = library ? dlsym(library, name) : NULL;
    if (plugin == NULL) return 3;
    void *world = communicator(0xabcdef0123456789 + (uint64_t)times, 3, rank);
    void *pair = rank < 2 ? communicator(0x42, 2, rank) : NULL;
    void *other = errs("both") ? communicator(0xabcdef0123456789 + (uint64_t)times, 3, 2) : NULL;
    for (int i = 0; i < 2; i++) step(world, pair);
    if (other != NULL) collective(other, "AllReduce", 1, "ncclFloat32", 0);
    plugin->finalize(world);
    if (pair != NULL) plugin->finalize(pair);
    dlclose(library);
  }
  return 0;
}
