/* Finds the functions of NCCL behind the recorder, which has their names. */
#define _GNU_SOURCE
#include "nccl_real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };

__thread const void *zpt_caller;

static int is_ours(const void *f)
{
  static const char here;
  Dl_info there, own;
  return dladdr(f, &there) && dladdr(&here, &own) && there.dli_fbase == own.dli_fbase;
}

/* As an object that is loaded would have found it, in itself or in what it needs. */
static void *in_object(const char *path, const char *name)
{
  void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (object == NULL) return NULL;
  void *f = dlsym(object, name);
  (void)dlclose(object); /* who loaded it holds it */
  return f == NULL || is_ours(f) ? NULL : f;
}

typedef struct nth {
  int left;
  char path[PATH];
} nth;

static int stop_at(struct dl_phdr_info *info, size_t size, void *given)
{
  (void)size;
  nth *at = given;
  if (at->left-- > 0) return 0;
  snprintf(at->path, sizeof at->path, "%s", info->dlpi_name);
  return 1;
}

/* One at a time: no object may be opened while the walk holds the loader's lock. */
static void *in_any_object(const char *name)
{
  nth at;
  for (int i = 0;; i++) {
    at.left = i;
    if (!dl_iterate_phdr(stop_at, &at)) return NULL;
    void *f = at.path[0] != 0 ? in_object(at.path, name) : NULL;
    if (f != NULL) return f;
  }
}

void *zpt_find(const char *name)
{
  void *f = dlsym(RTLD_NEXT, name);
  Dl_info from;
  /* The global scope has none where NCCL came in by dlopen, as Python loads its extensions. */
  if (f == NULL && zpt_caller != NULL && dladdr(zpt_caller, &from) && from.dli_fname != NULL)
    f = in_object(from.dli_fname, name);
  if (f == NULL) f = in_object("libnccl.so.2", name);
  if (f == NULL) f = in_any_object(name);
  return f;
}

ncclResult_t zpt_none(const char *name)
{
  static int told;
  if (!__atomic_exchange_n(&told, 1, __ATOMIC_RELAXED))
    fprintf(stderr,
            "zeroproof: no loaded library has %s: the recorder answers it, and what else it does "
            "not find, with ncclSystemError. Is NCCL older than the program's header?\n",
            name);
  return ncclSystemError;
}
