/* Child processes that end when this process ends, by whichever signal. Nothing else in ref/ and
 * cuda/ calls fork or popen (`make lint` checks it). Not installed. */
#ifndef ZP_BASE_CHILD_H
#define ZP_BASE_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

/* As fork(), but the child receives the signal `on_end` when this process ends, also if it ends
 * before the child has arranged that. Call it on the main thread: Linux sends the signal when the
 * thread that forked ends. The signal survives exec, but a child of the child does not inherit it:
 * a program that starts others must pass it on, as timeout(1) and mpirun do with SIGTERM. */
pid_t zp_child_fork(int on_end);

/* Blocks the signals that end a supervisor (SIGTERM, SIGHUP, SIGINT), and SIGCHLD. Returns a
 * descriptor from which they are read as signalfd does, without waiting, or -1 with errno. *before:
 * the mask to restore; it is set in both cases. */
int zp_child_signals(sigset_t *before);

typedef struct zp_child {
  FILE *stream; /* NULL: not started */
  pid_t pid;
} zp_child;

/* Starts the program argv[0] (from PATH, without a shell). stream reads its standard output; its
 * standard input is the descriptor `in`, /dev/null if that is -1, and its standard error /dev/null.
 * SIGKILL ends the program, and what it started in its process group, with this process, or after
 * seconds_max (0: no limit). Returns 0, or -1 with errno; if the program cannot be started,
 * zp_child_close says so. */
int zp_child_open(zp_child *c, char *const argv[], int in, unsigned seconds_max);

/* Reads to the end and closes; text[cap] receives the first line without its end. Returns as
 * zp_child_close. */
int zp_child_read_line(zp_child *c, char *text, size_t cap);

/* Closes the stream and waits. Returns the program's exit code, 127 if it could not be started, or
 * -1 if a signal ended it or it was never opened. */
int zp_child_close(zp_child *c);

#endif
