/* zeroproof env: what a bug report needs. Nothing here fails because something is absent: absence
 * is what a report must tell. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../base/child.h"
#include "../comm/mpi/comm_mpi.h"
#include "../engine/build_info.h"
#include "../num/simd/fast.h"
#include "commands.h"
#include "options.h"

/* Tools, and how each says its version in one line. */
static const struct {
  const char *section, *name, *command;
} tools[] = {
    {"compilers", "gcc", "gcc --version"},
    {"compilers", "clang", "clang --version"},
    {"compilers", "make", "make --version"},
    {"provers", "frama-c", "frama-c -version"},
    {"provers", "why3", "why3 --version"},
    {"provers", "alt-ergo", "alt-ergo --version"},
    {"provers", "z3", "z3 --version"},
    {"provers", "cvc4", "cvc4 --version"},
    {"provers", "cvc5", "cvc5 --version"},
    {"provers", "coq", "coqc --version"},
    {"accelerator", "nvcc", "nvcc --version | grep release"},
    {"accelerator", "driver and GPUs",
     "nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader"},
    {"communication", "mpirun", "mpirun --version"},
    {"tools", "gnuplot", "gnuplot --version"},
    {"tools", "git", "git --version"},
};
static const char *const sections[] = {"system",      "build",         "engines",
                                       "libraries",   "compilers",     "provers",
                                       "accelerator", "communication", "tools"};

/* The first line that a shell command prints, or "not found". A tool that hangs must not. */
static void first_line(const char *command, char *text, size_t cap)
{
  char *words[] = {"sh", "-c", (char *)(uintptr_t)command, NULL};
  zp_child c;
  if (zp_child_open(&c, words, -1, 20) != 0 || zp_child_read_line(&c, text, cap) != 0 || *text == 0)
    snprintf(text, cap, "not found");
}

static void put(json_t *root, const char *section, const char *name, const char *value)
{
  json_t *s = json_object_get(root, section);
  json_t *v = json_string(value); /* NULL for what is not UTF-8 */
  json_object_set_new(s, name, v != NULL ? v : json_null());
}

/* The value of "key: value" or key=value in a file's first such line. */
static void file_value(const char *file, const char *key, char *text, size_t cap)
{
  char line[4096];
  FILE *f = fopen(file, "r");
  snprintf(text, cap, "unknown");
  if (f == NULL) return;
  while (fgets(line, sizeof line, f) != NULL) {
    char *v;
    if (strncmp(line, key, strlen(key)) != 0) continue;
    v = line + strlen(key);
    v += strspn(v, " \t:=\"");
    v[strcspn(v, "\"\r\n")] = 0;
    snprintf(text, cap, "%s", v);
    break;
  }
  fclose(f);
}

static void put_system(json_t *root)
{
  static const char *const wanted[] = {"sse2",     "avx",         "avx2",     "fma",   "avx512f",
                                       "avx512bw", "avx512_bf16", "amx_bf16", "asimd", "sve"};
  struct utsname u;
  char text[4096], features[256] = "";
  if (uname(&u) == 0) {
    snprintf(text, sizeof text, "%s %s %s", u.sysname, u.release, u.machine);
    put(root, "system", "kernel", text);
  }
  file_value("/etc/os-release", "PRETTY_NAME", text, sizeof text);
  put(root, "system", "distribution", text);
  file_value("/proc/cpuinfo", "model name", text, sizeof text);
  put(root, "system", "cpu", text);
  file_value("/proc/cpuinfo", "flags", text, sizeof text);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    char padded[4100], word[32];
    snprintf(padded, sizeof padded, " %s ", text);
    snprintf(word, sizeof word, " %s ", wanted[i]);
    if (strstr(padded, word) == NULL) continue;
    snprintf(features + strlen(features), sizeof features - strlen(features), "%s%s",
             features[0] != 0 ? " " : "", wanted[i]);
  }
  put(root, "system", "cpu features", features);
  snprintf(text, sizeof text, "%ld", sysconf(_SC_NPROCESSORS_ONLN));
  put(root, "system", "cores", text);
  file_value("/proc/meminfo", "MemTotal", text, sizeof text);
  put(root, "system", "memory", text);
  put(root, "system", "glibc", gnu_get_libc_version());
}

/* NCCL's version, asked of the library itself when it can be loaded. */
static void nccl_version(char *text, size_t cap)
{
  void *lib = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  int (*get)(int *) = NULL;
  int v = 0;
  snprintf(text, cap, "not found");
  if (lib == NULL) return;
  *(void **)&get = dlsym(lib, "ncclGetVersion");
  if (get != NULL && get(&v) == 0)
    snprintf(text, cap, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
  dlclose(lib);
}

static void put_build(json_t *root)
{
  static const char *const levels[] = {"plain", "AVX2", "AVX-512"};
  char text[512];
  const zp_build_info info = zp_build();
  put(root, "build", "zeroproof", info.version);
  put(root, "build", "commit", info.commit);
  put(root, "build", "claims", info.claims);
#if defined(__clang__)
  put(root, "build", "compiled by", "clang " __clang_version__);
#else
  put(root, "build", "compiled by", "gcc " __VERSION__);
#endif
#if defined(__SANITIZE_ADDRESS__)
  put(root, "build", "sanitizers", "address, undefined");
#else
  put(root, "build", "sanitizers", "none");
#endif
  put(root, "build", "exact sums use", "plain C, as proven");
  put(root, "build", "ref/num/simd sums use", levels[zp_simd_level() % 3]); /* ref/num/simd */
  put(root, "libraries", "jansson", jansson_version_str());
  const int mpi = zp_mpi_library(text, sizeof text);
  put(root, "libraries", "MPI", mpi ? text : "none: launch is not available");
  nccl_version(text, sizeof text);
  put(root, "accelerator", "NCCL", text);
}

/* The GEMM backend of the CUDA engine, as its program reports it. */
static void put_products(json_t *root, const char *name, const char *program)
{
  char command[4200], text[512] = "not found";
  if (program != NULL && strpbrk(program, "'\"\\$`") == NULL) {
    snprintf(command, sizeof command, "\"%s\" --products", program);
    first_line(command, text, sizeof text);
  }
  put(root, "engines", name, text);
}

/* Programs that `--engine` hands over to. */
static void put_engines(json_t *root)
{
  char file[4096], text[128];
  for (const zp_known_engine *k = zp_engines_known(); k->name != NULL; k++) {
    const int there = zp_program_beside(k->program, file, sizeof file) == 0;
    snprintf(text, sizeof text, there ? "%s" : "%s is not here: make %s", k->program, k->make);
    put(root, "engines", k->name, text);
    if (strcmp(k->name, "cuda") == 0) put_products(root, "matrix products", there ? file : NULL);
    if (strcmp(k->program, "zeroproof-cuda") == 0)
      put_products(root, "products on a GPU", there ? file : NULL);
  }
}

static void print_text(json_t *root)
{
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    const char *name;
    json_t *value;
    printf("%s\n", sections[i]);
    json_object_foreach(json_object_get(root, sections[i]), name, value)
        printf("  %-17s %s\n", name, json_is_string(value) ? json_string_value(value) : "?");
  }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
  (void)arg;
  if (key != 'j') return ARGP_ERR_UNKNOWN;
  *(int *)state->input = 1;
  return 0;
}

int zp_cmd_env(int argc, char **argv, const zp_backend *engine)
{
  (void)engine;
  static const struct argp_option options[] = {{"json", 'j', NULL, 0, "print JSON for machines", 0},
                                               {0}};
  static const struct argp argp = {options,
                                   parse,
                                   NULL,
                                   "Versions, compilers, provers, accelerators: what a bug report "
                                   "needs.",
                                   NULL,
                                   NULL,
                                   NULL};
  int json = 0, code = 0;
  json_t *root = json_object();
  char text[512];
  if (zp_cli_parse(&argp, argc, argv, &json) != 0) return ZP_EXIT_REFUSED;
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
    json_object_set_new(root, sections[i], json_object());
  put_system(root);
  put_build(root);
  put_engines(root);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
    first_line(tools[i].command, text, sizeof text);
    put(root, tools[i].section, tools[i].name, text);
  }
  if (!json) print_text(root);
  else if (json_dumpf(root, stdout, JSON_INDENT(1)) != 0 || putchar('\n') == EOF)
    code = ZP_EXIT_ENVIRONMENT;
  json_decref(root);
  return code;
}
