/* The functions of NCCL that the core of simdev calls. The first NCCL call of a run sets the table,
 * so that no core file refers to an nccl_*.c file, and a program without NCCL does not link them. A
 * run without NCCL calls has no communication items, jobs or communicators, for which alone the
 * core uses the table. */
#ifndef ZP_SIMDEV_NCCL_OPS_H
#define ZP_SIMDEV_NCCL_OPS_H
#include "base.h"

typedef struct sd_nccl_ops {
  /* Items of kind SIMDEV_COMM: can it run; runs it; does it read or write [low, high). */
  int (*is_ready)(simdev *s, sd_item *item);
  void (*step)(simdev *s, sd_item *item);
  int (*uses)(const sd_item *item, const char *low, const char *high);
  /* 1: it is the item of the kernel's first stream. */
  int (*is_first)(const sd_item *item);
  /* Jobs: one runs; 1: the idle simulation has let deferred ones run. */
  void (*run_job)(simdev *s, sd_agent *a);
  int (*run_deferred)(simdev *s);
  /* 1: the idle simulation has reported to a member that another one is gone. */
  int (*report_lost_members)(simdev *s);
  /* 1: the host's NCCL group is open. */
  int (*group_is_open)(const sd_host *h);
  /* For reports. */
  void (*item_text)(const sd_item *item, char *text, size_t cap);
  void (*append_missing)(simdev *s, const sd_item *item);
  void (*append_job)(simdev *s, const sd_job *job);
  void (*append_connecting)(simdev *s);
  void (*note_leaks)(simdev *s);
} sd_nccl_ops;

#endif
