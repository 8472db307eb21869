/* What is free is the least of the machine's, the control groups' and the address space's. */
/* inputs: none */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../../../ref/base/memory_free.h"

static char root[] = "/tmp/zeroproof-memory-XXXXXX";

static void begin(void)
{
  cr_assert(mkdtemp(root) != NULL);
}

static void end(void)
{
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", root);
  cr_assert_eq(system(command), 0);
}

TestSuite(memory_free, .init = begin, .fini = end);

/* A file below root, with all folders above it. */
static void write_file(const char *name, const char *text)
{
  char path[512];
  FILE *f;
  snprintf(path, sizeof path, "%s/%s", root, name);
  for (char *p = strchr(path + strlen(root) + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = 0;
    (void)mkdir(path, 0700);
    *p = '/';
  }
  f = fopen(path, "w");
  cr_assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static void is_free(double bytes, const char *what)
{
  const zp_memory_free m = zp_memory_free_now(root);
  cr_assert(m.bytes == bytes, "got %.0f bytes, expected %.0f", m.bytes, bytes);
  cr_assert(strstr(m.what, what) != NULL, "got '%s', expected '%s'", m.what, what);
}

Test(memory_free, without_groups_it_is_what_the_kernel_says_is_available)
{
  write_file("proc/meminfo", "MemTotal: 900 kB\nMemFree: 3 kB\nMemAvailable:      700 kB\n");
  is_free(700 * 1024.0, "machine");
}

Test(memory_free, a_group_of_version_2_limits_it_less_what_it_uses)
{
  write_file("proc/meminfo", "MemAvailable: 700 kB\n");
  write_file("proc/self/cgroup", "0::/a/b\n");
  write_file("sys/fs/cgroup/a/b/memory.max", "500000\n");
  write_file("sys/fs/cgroup/a/b/memory.current", "200000\n");
  write_file("sys/fs/cgroup/a/b/memory.stat", "anon 7\ninactive_file 1000\n");
  is_free(301000, "group");
}

Test(memory_free, a_group_above_limits_it_as_well)
{
  write_file("proc/meminfo", "MemAvailable: 700 kB\n");
  write_file("proc/self/cgroup", "0::/a/b\n");
  write_file("sys/fs/cgroup/a/b/memory.max", "max\n");
  write_file("sys/fs/cgroup/a/b/memory.current", "10\n");
  write_file("sys/fs/cgroup/a/memory.max", "5000\n");
  write_file("sys/fs/cgroup/a/memory.current", "6000\n");
  is_free(0, "group");
}

Test(memory_free, a_group_without_a_limit_does_not_limit_it)
{
  write_file("proc/meminfo", "MemAvailable: 700 kB\n");
  write_file("proc/self/cgroup", "0::/a/b\n");
  write_file("sys/fs/cgroup/a/b/memory.max", "max\n");
  write_file("sys/fs/cgroup/a/b/memory.current", "10\n");
  is_free(700 * 1024.0, "machine");
  write_file("sys/fs/cgroup/a/memory.max", "500000\n");
  write_file("sys/fs/cgroup/a/memory.current", "200000\n");
  is_free(300000, "group");
}

Test(memory_free, a_group_of_version_1_limits_it)
{
  write_file("proc/meminfo", "MemAvailable: 700 kB\n");
  write_file("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/y\n");
  write_file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write_file("sys/fs/cgroup/memory/memory.usage_in_bytes", "600000\n");
  write_file("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "400000\n");
  write_file("sys/fs/cgroup/memory/y/memory.usage_in_bytes", "100000\n");
  is_free(300000, "group");
}

Test(memory_free, the_address_space_limits_it_less_what_is_mapped)
{
  struct rlimit space;
  cr_assert_eq(getrlimit(RLIMIT_AS, &space), 0);
  space.rlim_cur = (rlim_t)1 << 40;
  cr_assert_eq(setrlimit(RLIMIT_AS, &space), 0);
  write_file("proc/self/statm", "1000 1 1\n");
  is_free(0x1p40 - 1000 * 4096.0, "ulimit");
}
