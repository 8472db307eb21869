/* zeroproof-simdev-streams DIR SUB-COMMAND...: zeroproof-simdev that writes the stream events of
 * the first run on simdev to DIR (conformance/TRACE.md). */
#include <stdio.h>
#include <stdlib.h>

#include "../../ref/cli/commands.h"
#include "../simdev/streams/log.h"
#include "../verify/backend.h"
#include "../verify/state.h"

/* ---- Which phase an op's work belongs to ----------------------------------------------------- */

typedef struct tagged {
  int64_t tag;
  int32_t rank;
  const char *phase;
} tagged;

static tagged *list;
static int64_t n, cap;
static int untagged; /* with several hosts of a rank the phase of work is not known */

static const char *phase_of_op(const zp_op *op)
{
  switch (op->kind) {
  case ZP_OP_META:
  case ZP_OP_P2P: return "exchange";
  case ZP_OP_DECIDE:
  case ZP_OP_UPDATE:
  case ZP_OP_ALL_GATHER: return "step";
  case ZP_OP_ALL_REDUCE: return op->what == ZP_WHAT_STATISTICS ? "step" : "reduce";
  default: return "reduce";
  }
}

static void note(int32_t rank, int64_t tag, const zp_op *op)
{
  untagged |= op == NULL;
  if (!op) return;
  if (n == cap) {
    cap = 2 * cap + 256;
    list = realloc(list, (size_t)cap * sizeof *list);
    if (!list) exit(3);
  }
  list[n++] = (tagged){tag, rank, phase_of_op(op)};
}

static const char *phase_of(int32_t rank, int64_t tag)
{
  /* before the first step: writes parameters and state, as a step does */
  if (tag == 0) return untagged ? NULL : "step";
  for (int64_t i = n; i-- > 0;)
    if (list[i].tag == tag && list[i].rank == rank) return list[i].phase;
  return NULL;
}

int main(int argc, char **argv)
{
  int code;
  if (argc < 3) {
    fprintf(stderr, "usage: %s DIR sim [OPTION...]\n", argv[0]);
    return 2;
  }
  if (simdev_log_open(argv[1], phase_of)) {
    fprintf(stderr, "%s: the log cannot be written to the folder %s\n", argv[0], argv[1]);
    return 3;
  }
  zp_on_tag = note;
  code = zp_main(argc - 1, argv + 1, &zp_backend_cuda);
  if (simdev_log_close()) {
    fprintf(stderr, "%s: no run was logged to %s, or the disk is full\n", argv[0], argv[1]);
    return code ? code : 3;
  }
  free(list);
  return code;
}
