/* Other processes of this user, from /proc. Not installed. */
#ifndef ZP_COMM_PROC_H
#define ZP_COMM_PROC_H

#include <limits.h>
#include <stddef.h>

enum { ZP_PROC_ENVIRONMENT = 1 << 16 };

/* Calls visit for each process, with its id as text. 0, or -1: /proc cannot be read. */
int zp_proc_each(void (*visit)(void *ctx, const char *pid), void *ctx);

/* The parent of a process; -1: it has ended. */
long zp_proc_parent(const char *pid);

/* The program of a process, or "" if it is not known. pid: digits, or "self". */
void zp_proc_program(const char *pid, char path[PATH_MAX]);

/* The environment with which the process's program started, NAME=VALUE with a zero byte after each;
 * returns its length, 0 if it cannot be read. */
size_t zp_proc_environment(const char *pid, char bytes[ZP_PROC_ENVIRONMENT]);

/* The value of a variable in it, or NULL. */
const char *zp_proc_value(const char *bytes, size_t n, const char *name);

/* 1: the process was started with the same words as this one; 0 also if it has ended. */
int zp_proc_has_same_words(const char *pid);

/* 1: the process's current folder is this one's, or that is not known. */
int zp_proc_is_in_same_folder(const char *pid);

#endif
