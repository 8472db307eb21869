/* zeroproof: a ZeRO training step as a program, planned, executed and simulated.
 *
 * One include for the whole library: the planner (ref/plan), the arithmetic (ref/num), the engine
 * (ref/engine) and the workloads (ref/model). Compile with -ffp-contract=off whatever must give the
 * same bits. */
#ifndef ZEROPROOF_H
#define ZEROPROOF_H

#ifdef __cplusplus
extern "C" {
#endif

#include "plan/config.h"
#include "plan/dtype.h"
#include "plan/layout.h"
#include "plan/pipeline.h"
#include "plan/program.h"
#include "plan/topology.h"

#include "num/exact.h"
#include "num/half.h"
#include "num/nonfinite.h"
#include "num/norm.h"
#include "num/optim.h"
#include "num/ordered.h"
#include "num/scaler.h"
#include "num/value.h"

#include "base/error.h"
#include "comm/comm.h"
#include "comm/job/job.h"
#include "comm/sim/comm_sim.h"
#include "engine/build_info.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "engine/lr_schedule.h"
#include "engine/rank.h"
#include "engine/serial.h"
#include "engine/workload.h"

#include "model/gpt.h"
#include "model/list.h"
#include "model/synth.h"
#include "model/text.h"

#ifdef __cplusplus
}
#endif

#endif
