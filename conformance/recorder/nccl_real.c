/* Finds NCCL's own functions, which the recorder wraps under the same names. */
#define _GNU_SOURCE
#include "nccl_real.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { PATH = 4096 };

__thread const void *zpt_caller;

static int is_in_recorder(const void *f)
{
  static const char here;
  Dl_info there, own;
  return dladdr(f, &there) && dladdr(&here, &own) && there.dli_fbase == own.dli_fbase;
}

/* Looks the function up in a loaded object and its dependencies. */
static void *in_object(const char *path, const char *name)
{
  void *object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (object == NULL) return NULL;
  void *f = dlsym(object, name);
  (void)dlclose(object); /* it stays loaded: RTLD_NOLOAD only added a reference */
  return f == NULL || is_in_recorder(f) ? NULL : f;
}

typedef struct nth {
  int left;
  char path[PATH];
} nth;

static int stop_at(struct dl_phdr_info *info, size_t size, void *context)
{
  (void)size;
  nth *at = context;
  if (at->left-- > 0) return 0;
  snprintf(at->path, sizeof at->path, "%s", info->dlpi_name);
  return 1;
}

/* One object per walk: dlopen must not be called while dl_iterate_phdr holds the loader's lock. */
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
  /* NCCL is not in the global scope if dlopen loaded it, as Python does with its extensions. */
  if (f == NULL && zpt_caller != NULL && dladdr(zpt_caller, &from) && from.dli_fname != NULL)
    f = in_object(from.dli_fname, name);
  if (f == NULL) f = in_object("libnccl.so.2", name);
  if (f == NULL) f = in_any_object(name);
  return f;
}

ncclResult_t zpt_missing(const char *name)
{
  static int reported;
  if (!__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
    fprintf(
        stderr,
        "zeroproof: no loaded library has %s: the recorder returns ncclSystemError for this and "
        "every other missing function. Check whether NCCL is older than the program's header.\n",
        name);
  return ncclSystemError;
}
