/* Device and pinned memory. */
#ifndef ZP_SIMDEV_MEMORY_H
#define ZP_SIMDEV_MEMORY_H
#include "base.h"

typedef enum { SD_PAGEABLE, SD_PINNED, SD_DEVICE } sd_memory_kind;

typedef struct sd_alloc {
  char *at;
  size_t bytes;
  int32_t rank, device, call, freed_call;
  int32_t freed;
  sd_memory_kind kind;
} sd_alloc;

enum { SD_UNIT = 256, SD_GUARD = SD_UNIT }; /* CUDA aligns allocations to 256 bytes */

/* Allocations of one kind, in the order of their addresses; never reused within a run. */
typedef struct sd_region {
  char *base, *next, *end;
  int32_t
      *owner; /* the allocation that each unit of SD_UNIT bytes, or the guard there, belongs to */
  sd_alloc *list;
  int64_t n, cap;
} sd_region;

typedef struct sd_memory {
  sd_region device, pinned;
  sd_alloc *registered; /* host memory that cudaHostRegister has pinned, in no order */
  int64_t registered_n, registered_cap;
  uint32_t poison;
} sd_memory;

/* region.c: the address space, and which allocation an address belongs to. */
int sd_memory_open(simdev *s);
void sd_memory_close(simdev *s);
void sd_memory_reset(simdev *s);
/* The allocation at p or the last one before it; NULL: pageable memory, or before all of them. */
sd_alloc *sd_memory_find(const simdev *s, const void *p);

/* The registered memory that p lies in, or NULL. */
sd_alloc *sd_memory_registered(const simdev *s, const void *p);

/* protect.c: device memory is inaccessible to hosts. Nothing where the option is not set. */
void sd_protect(simdev *s);
void sd_unprotect(simdev *s);
void sd_protect_begin(simdev *s);
void sd_protect_end(simdev *s);

/* memory.c */
cudaError_t sd_memory_allocate(sd_host *h, sd_memory_kind kind, size_t bytes, void **p);
cudaError_t sd_memory_release(sd_host *h, sd_memory_kind kind, void *p);
/* cudaHostRegister and cudaHostUnregister of the program's own memory. */
cudaError_t sd_memory_register(sd_host *h, void *p, size_t bytes);
cudaError_t sd_memory_unregister(sd_host *h, void *p);
void sd_memory_free_item(simdev *s, sd_item *item);
void sd_memory_check_guards(simdev *s);
void sd_memory_poison(simdev *s, void *p, size_t n, int freed);
/* Notes a finding unless [p, p+n) is the rank's own live memory, or pageable. verb: "reads",
 * "writes"; by the item, or by the running host's call where that is NULL. */
cudaError_t sd_memory_range(simdev *s, int32_t rank, const void *p, size_t n, const char *verb,
                            const sd_item *item);

#endif
