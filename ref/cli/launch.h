/* zeroproof launch: mpirun with what one machine, root and a dying process need.
 *
 * Survivors. mpirun 4.1.4 kills a job when a process dies; its --enable-recovery lets survivors
 * live but then returns 0 whatever they return. So launch asks for neither: it makes mpirun wait
 * ZP_LAUNCH_GRACE_S between SIGCONT, SIGTERM and SIGKILL, and ranks (comm_mpi) poll for SIGTERM,
 * say where they were and whom they miss, and leave. spec: LEDG-7 */
#ifndef ZP_CLI_LAUNCH_H
#define ZP_CLI_LAUNCH_H

#include <stdint.h>

enum { ZP_LAUNCH_GRACE_S = 3 };

typedef struct zp_launch {
  int32_t processes;    /* 1..2^20, 0 until given */
  const char *deadline; /* seconds as text, or NULL */
  char *words;          /* further words for mpirun, owned, or NULL */
  char **command;       /* the sub-command and its arguments */
  int32_t n_command;
  const char *program;       /* this binary */
  const char *started;       /* file that tells whether the job began, or NULL */
  int32_t root, remote;      /* running as root; ssh or rsh is there */
  char count[16], grace[16]; /* words made here */
} zp_launch;

/* mpirun's argument vector, NULL-terminated; pointers into l and to constants. The array is
 * malloc'ed, NULL without memory. l->words is cut up by it. */
char **zp_launch_argv(zp_launch *l);

/* The exit code for what became of mpirun (as waitpid tells it). 0, 1, 2 and 3 are the ranks' own;
 * anything else is 3, and so is a 1 when no job began or it was
 * cancelled (began = 0): then it is mpirun's own. */
int zp_launch_exit(int wait_status, int began);

#endif
