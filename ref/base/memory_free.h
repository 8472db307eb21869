/* How much more memory this process may take. Not installed. */
#ifndef ZP_BASE_MEMORY_FREE_H
#define ZP_BASE_MEMORY_FREE_H

typedef struct zp_memory_free {
  double bytes;     /* the least of the limits below; 1e300 if none is known */
  const char *what; /* "the machine has", "the cgroup allows", "ulimit -v allows" */
} zp_memory_free;

/* MemAvailable of /proc/meminfo, the memory limits of the control groups that this process is in
 * (version 1 and 2, with all groups above) less what they use, and the limit of the address space
 * (ulimit -v) less what is mapped. root: "" or, for tests, a folder in which proc/ and sys/ are. */
zp_memory_free zp_memory_free_now(const char *root);

#endif
