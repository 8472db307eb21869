/* Which ranks of a job run, and where: `zeroproof launch` runs mpirun and keeps the list, each rank
 * reports to it. MPI does not say which rank a signal ended while MPI was starting, nor which rank
 * of another host; the list does. Not installed. spec: LEDG-7 */
#ifndef ZP_COMM_ROSTER_H
#define ZP_COMM_ROSTER_H

#include <stdint.h>

/* Where the launcher listens; set by zp_roster_run for the processes that it starts. The name of an
 * abstract socket, or tcp:PORT:TOKEN:ADDRESS[,ADDRESS…]. */
#define ZP_ROSTER_VARIABLE "ZEROPROOF_ROSTER"

/* A folder in which each rank writes its error, on its own host, in rank.N. */
#define ZP_ROSTER_LOG_VARIABLE "ZEROPROOF_LOG"

typedef enum zp_roster_word {
  ZP_ROSTER_HERE = 1,   /* the process has started; it stays connected until it ends */
  ZP_ROSTER_JOINED = 2, /* MPI has started */
  ZP_ROSTER_LEAVES = 3  /* it ends by itself, after it has reported its errors */
} zp_roster_word;

/* Where all ranks run. */
typedef enum zp_roster_reach {
  ZP_ROSTER_HERE_ONLY = 0, /* on this host: one that never reported has not started */
  ZP_ROSTER_UNKNOWN = 1,   /* ranks of other hosts do not report */
  ZP_ROSTER_HOSTS = 2      /* on several hosts: they report over TCP */
} zp_roster_reach;

/* In a rank: reports to the launcher, if there is one; failures are ignored. why: the error with
 * which it leaves; NULL: none. culprit: the rank at fault, or one of the two below. Does not block
 * longer than a second, over TCP 5 s: the launcher may be cut off. */
enum {
  ZP_ROSTER_NO_CULPRIT = -1,
  ZP_ROSTER_STOPPED = -2 /* mpirun ended it before its deadline */
};
void zp_roster_report(zp_roster_word word, const char *why, int32_t culprit);

/* In a rank: appends an error to its file in the folder of ZP_ROSTER_LOG_VARIABLE, if there is one;
 * zp_roster_report does so, too. */
void zp_roster_log(const char *why);

typedef struct zp_roster_result {
  int status;        /* of the command, as waitpid returns it */
  int killed;        /* 1: it did not end in time, and received SIGKILL */
  int cancelled;     /* the first signal that this process received to end the job, or 0 */
  int began;         /* 1: a rank has joined, or no list could be kept */
  int output_error;  /* errno of a write to standard output that failed, or 0 */
  int32_t lost;      /* the rank of `ended`, the first if several are named; -1: not known */
  char host[64];     /* of a job on several hosts: where `lost` ran, as its gethostname; or "" */
  int32_t host_lost; /* 1: all ranks of that host ended without a report, or none answers */
  char ended[2048];  /* why the job failed, as a sentence; empty: nothing is known */
  char said[1536];   /* the error that a rank reported, as a sentence; or "" */
} zp_roster_result;

/* In the launcher: runs argv, which starts `world` ranks, forwards its standard output, and waits
 * for it. SIGTERM, SIGINT and SIGHUP are passed on as SIGTERM (except SIGINT from a terminal, which
 * argv's process receives as well). patience_s after that, or after all ranks have ended, it
 * receives SIGKILL; a third of that if a rank has failed on several hosts. If this process ends,
 * the command receives SIGTERM. host: [world] where argv places each rank, for one that is stopped
 * before it reports its host; NULL, and so may be any element: not known. Returns 0, or -1 with
 * errno if the command could not be started. */
int zp_roster_run(char *const argv[], int32_t world, zp_roster_reach reach, const char *const *host,
                  double patience_s, zp_roster_result *result);

#endif
