/* Machines of the cost model: figures of a cluster, each with its source, in a JSON file:
 *
 *   {"name": "…", "ranks_per_node": 8, "nodes": 64, "capacity": 141e9,
 *    "figures": {"flops": {"value": 9.89e14, "unit": "flop/s", "source": "…"}, …}}
 *
 * All figures are required; their names and units are those of zp_figures. README.md says how the
 * model uses them. */
#ifndef ZP_CUDA_COST_MACHINE_H
#define ZP_CUDA_COST_MACHINE_H

#include <stdint.h>

#include "../../ref/base/error.h"

typedef enum zp_figure {
  ZP_FIG_FLOPS,       /* floating-point operations a second of forward and backward */
  ZP_FIG_MEMORY,      /* bytes a second that a kernel reads and writes */
  ZP_FIG_KERNEL,      /* from the end of a kernel to the full speed of the next on its stream */
  ZP_FIG_LINK,        /* bus bandwidth of a rank within its node */
  ZP_FIG_NETWORK,     /* of a rank to other nodes */
  ZP_FIG_START,       /* of a communication, before its first hop */
  ZP_FIG_LINK_HOP,    /* a step of a ring within a node */
  ZP_FIG_NETWORK_HOP, /* a step of a ring between nodes */
  ZP_FIG_LL128_START, /* the same with NCCL's protocol LL128 */
  ZP_FIG_LL128_LINK_HOP,
  ZP_FIG_LL128_NETWORK_HOP,
  ZP_FIG_LL128_SHARE,    /* of the bandwidth, with LL128 */
  ZP_FIG_COMM_COMPUTE,   /* share of the multiprocessors that a communication occupies */
  ZP_FIG_COMM_MEMORY,    /* bytes of memory that a communication moves for a byte on the bus */
  ZP_FIG_KERNEL_COMPUTE, /* share of the multiprocessors that saturates the memory */
  ZP_FIG_COMPUTE_MEMORY, /* share of the memory's bandwidth that forward and backward use */
  ZP_FIG_HOST_LINK,      /* bytes a second between a rank and pinned host memory, one way */
  ZP_FIG_HOST_UPDATE,    /* bytes of host memory a second that a rank's update reads and writes */
  ZP_FIGS
} zp_figure;

/* A figure's key in the file and its unit; a share is above 0 and at most 1. */
typedef struct zp_figure_info {
  const char *key, *unit;
} zp_figure_info;
extern const zp_figure_info zp_figures[ZP_FIGS];

enum { ZP_MACHINE_TEXT = 320 };

typedef struct zp_machine {
  char name[ZP_MACHINE_TEXT];
  int32_t ranks_per_node, nodes;
  double capacity; /* bytes of a rank's memory */
  double figure[ZP_FIGS];
  char source[ZP_FIGS][ZP_MACHINE_TEXT];
} zp_machine;

/* Reads a machine; file NULL: the one that is built in, machines/h200-cluster.json. 0, or
 * ZP_E_FILE or ZP_E_REFUSED in *err, which names the file and the field. */
int zp_machine_read(const char *file, zp_machine *m, zp_error *err);

#endif
