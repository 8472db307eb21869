/* What every file of simdev includes: names of the types, AddressSanitizer, tags of handles. The
 * prefix is sd_ on everything that is not public. */
#ifndef ZP_SIMDEV_BASE_H
#define ZP_SIMDEV_BASE_H
#include <stdarg.h>
#include <string.h>

#include "simdev.h"

typedef struct sd_agent sd_agent;   /* ready.h */
typedef struct sd_host sd_host;     /* host.h */
typedef struct sd_stream sd_stream; /* stream.h */
typedef struct sd_item sd_item;     /* item.h */
typedef struct sd_event sd_event;   /* item.h */
typedef struct sd_key sd_key;       /* signal.c */
typedef struct sd_group sd_group;   /* nccl_types.h, as the next three */
typedef struct sd_job sd_job;
typedef struct sd_launch sd_launch;
typedef struct sd_nccl sd_nccl;

/* AddressSanitizer, as gcc and as clang define it. */
#if defined(__SANITIZE_ADDRESS__)
#define SD_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SD_ASAN
#endif
#endif
#ifdef SD_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

/* Handles are pointers into the arena. The mark is the type of the object, or says that it is
 * destroyed. */
enum {
  SD_MARK_STREAM = 0x53545245,
  SD_MARK_EVENT = 0x45564e54,
  SD_MARK_COMM = 0x434f4d4d,
  SD_MARK_GONE = 0x474f4e45
};

/* The address that the calling public function returns to: where the program issued the call. */
#define SD_PC __builtin_return_address(0)

extern _Thread_local simdev *sd_now; /* the simulation that runs on this thread */

#endif
