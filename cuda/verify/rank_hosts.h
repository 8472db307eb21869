/* A rank's further hosts: hosts that announce the gradients of their own streams, the engine's
 * watchdog with its lock; and the alarm by which ranks learn of failures. */
#ifndef ZP_CUDA_VERIFY_RANK_HOSTS_H
#define ZP_CUDA_VERIFY_RANK_HOSTS_H

#include "../engine/engine.h"
#include "differential.h"

/* Addresses of members are keys of simdev, each of which is signalled once: so each turn, the
 * announcements of one micro-batch, has its own. */
struct zp_rank_hosts {
  zp_diff *t;
  zp_diff_rank *w;
  void (*watch)(void *);
  void *watch_arg;
  char watch_begins, watch_ended, lock;
  int32_t turns, turn, over; /* turns: their number in a run */
  char *begins, *ended;      /* [turns + 1]; [turns + 1][ZP_DIFF_STREAMS] */
};

/* The first failure that a rank reported. */
typedef struct zp_alarm_board {
  zp_alarm first;
  uint64_t ns;
  int32_t begun, posted; /* 1: a rank posts it; it is posted */
} zp_alarm_board;

/* The main functions of the further hosts, for simdev_host. */
int zp_rank_watchdog(void *hosts, int process);
int zp_rank_second_host(void *hosts, int process);
int zp_rank_third_host(void *hosts, int process);

/* All announcements of a micro-batch, by one host or several. */
int zp_announce_all(zp_diff_rank *w);
/* The engine's options for threads and the host channel. */
void zp_rank_hosts_options(zp_diff_rank *w, zp_cuda_options *o);
/* Lets all further hosts of a rank return. */
void zp_rank_hosts_end(zp_rank_hosts *h);

#endif
