/* clang-format off */
/* Where each planted fault is found: made by `make faults`, judged by test_engine_faults.sh. A
 * fault that no case has found has an empty one. */
#define ZP_FOUND_FORGOTTEN \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_FORGOTTEN_AS {"STEP-3", "STEP-3"}
#define ZP_FOUND_ANNOUNCED_TWICE \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_ANNOUNCED_TWICE_AS {"STEP-3", "STEP-3"}
#define ZP_FOUND_ONE_PRODUCER \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_ONE_PRODUCER_AS {"STAT-4", "race"}
#define ZP_FOUND_COMPUTE_ONLY \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_COMPUTE_ONLY_AS {"STAT-4", "race"}
#define ZP_FOUND_ONE_EVENT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_ONE_EVENT_AS {"STEP-7", "race"}
#define ZP_FOUND_PRODUCERS_KEPT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_PRODUCERS_KEPT_AS {"STAT-4", "race"}
#define ZP_FOUND_FIRST_BATCH \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_FIRST_BATCH_AS {"STAT-4", "race"}
#define ZP_FOUND_REFILL \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_REFILL_AS {"STAT-4", "race"}
#define ZP_FOUND_SLOT_RESET \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_SLOT_RESET_AS {"STAT-4", "race"}
#define ZP_FOUND_EARLY_FREE \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_EARLY_FREE_AS {"STEP-6", "race"}
#define ZP_FOUND_SHARED_BUFFER \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=2"
#define ZP_FOUND_SHARED_BUFFER_AS {"STAT-4", "race"}
#define ZP_FOUND_NO_P2P_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_NO_P2P_WAIT_AS {"PIPE-6", "race"}
#define ZP_FOUND_UNSETTLED \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_UNSETTLED_AS {"PIPE-6", "race"}
#define ZP_FOUND_GATHER_EARLY \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_GATHER_EARLY_AS {"STEP-8", "race"}
#define ZP_FOUND_NO_STEP_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_NO_STEP_WAIT_AS {"STAT-5", "race"}
#define ZP_FOUND_HOST_READ \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_HOST_READ_AS {"STEP-9", "race"}
#define ZP_FOUND_UNLOADED \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_UNLOADED_AS {"STRM-7", "STRM-7"}
#define ZP_FOUND_ORDER_LATE \
  "pp=2,dp=2,stage=2,reduce=ordered,precision=bf16,M=4,bucket=8,steps=3,seed=8080,unused=60,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=18"
#define ZP_FOUND_ORDER_LATE_AS {"engine", "engine"}
#define ZP_FOUND_WHOLE_STREAM \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_WHOLE_STREAM_AS {"wait", "wait"}
#define ZP_FOUND_COPIED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_COPIED_RECORD_AS {"STAT-4", "race"}
#define ZP_FOUND_COPIED_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_COPIED_WAIT_AS {"STAT-4", "race"}
#define ZP_FOUND_FREE_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_FREE_RECORD_AS {"STEP-7", "race"}
#define ZP_FOUND_FREE_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_FREE_WAIT_AS {"STAT-4", "race"}
#define ZP_FOUND_ADDED_RECORD \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=3"
#define ZP_FOUND_ADDED_RECORD_AS {"STEP-7", "race"}
#define ZP_FOUND_ADDED_WAIT \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=3"
#define ZP_FOUND_ADDED_WAIT_AS {"STEP-7", "race"}
#define ZP_FOUND_STAGED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=10"
#define ZP_FOUND_STAGED_RECORD_AS {"STAT-4", "race"}
#define ZP_FOUND_STAGED_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=10"
#define ZP_FOUND_STAGED_WAIT_AS {"STAT-4", "race"}
#define ZP_FOUND_FORWARDED_RECORD \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=3"
#define ZP_FOUND_FORWARDED_RECORD_AS {"PIPE-6", "race"}
#define ZP_FOUND_FORWARDED_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=3"
#define ZP_FOUND_FORWARDED_WAIT_AS {"PIPE-6", "race"}
#define ZP_FOUND_BACKWARDED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=98"
#define ZP_FOUND_BACKWARDED_RECORD_AS {"STEP-8", "race"}
#define ZP_FOUND_BACKWARDED_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=4"
#define ZP_FOUND_BACKWARDED_WAIT_AS {"PIPE-6", "race"}
#define ZP_FOUND_LOSSES_RECORD \
  "pp=1,dp=1,stage=1,reduce=ordered,precision=fp32,M=2,bucket=16,steps=3,seed=8080,unused=240,list=9@0.0,schedule=6"
#define ZP_FOUND_LOSSES_RECORD_AS {"STAT-5", "race"}
#define ZP_FOUND_LOSSES_WAIT \
  "pp=1,dp=1,stage=1,reduce=ordered,precision=fp32,M=2,bucket=16,steps=3,seed=8080,unused=240,list=9@0.0,schedule=6"
#define ZP_FOUND_LOSSES_WAIT_AS {"STAT-5", "race"}
#define ZP_FOUND_FINISHED_WAIT \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=82"
#define ZP_FOUND_FINISHED_WAIT_AS {"STEP-8", "race"}
#define ZP_FOUND_NEXT_RECORD \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_NEXT_RECORD_AS {"STEP-6", "race"}
#define ZP_FOUND_NEXT_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_NEXT_WAIT_AS {"STEP-6", "race"}
#define ZP_FOUND_PREVIOUS_RECORD \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_PREVIOUS_RECORD_AS {"PIPE-6", "race"}
#define ZP_FOUND_PREVIOUS_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=1"
#define ZP_FOUND_PREVIOUS_WAIT_AS {"PIPE-6", "race"}
#define ZP_FOUND_ENDED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_ENDED_RECORD_AS {"STAT-5", "race"}
#define ZP_FOUND_ENDED_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_ENDED_WAIT_AS {"STAT-5", "race"}
#define ZP_FOUND_ENDED_HOST \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=17"
#define ZP_FOUND_ENDED_HOST_AS {"STRM-4", "STRM-4"}
#define ZP_FOUND_ORDER_RECORD \
  "pp=2,dp=2,stage=2,reduce=ordered,precision=bf16,M=4,bucket=8,steps=3,seed=8080,unused=60,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=2"
#define ZP_FOUND_ORDER_RECORD_AS {"engine", "engine"}
#define ZP_FOUND_ORDER_WAIT \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=fp16,M=3,bucket=16,steps=3,seed=8080,list=5@0.0t0+9@0.0+7@1.0+5@1.0t0,schedule=74"
#define ZP_FOUND_ORDER_WAIT_AS {"engine", "engine"}
#define ZP_FOUND_OPENED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_OPENED_RECORD_AS {"STEP-8", "race"}
#define ZP_FOUND_OPENED_HOST \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_OPENED_HOST_AS {"STEP-8", "race"}
#define ZP_FOUND_READ_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_READ_RECORD_AS {"STEP-9", "race"}
#define ZP_FOUND_READ_HOST \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_READ_HOST_AS {"STEP-9", "race"}
#define ZP_FOUND_MET_RECORD \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=bf16,M=3,bucket=16,steps=2,seed=8080,dynamic=1,vary=1,list=9@0.0+7@1.0,schedule=1"
#define ZP_FOUND_MET_RECORD_AS {"mismatch", "race"}
#define ZP_FOUND_MET_HOST \
  "pp=2,dp=1,stage=2,reduce=ordered,precision=bf16,M=3,bucket=16,steps=2,seed=8080,dynamic=1,vary=1,list=9@0.0+7@1.0,schedule=1"
#define ZP_FOUND_MET_HOST_AS {"mismatch", "race"}
#define ZP_FOUND_STORED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,reload=1:2:1:8,schedule=2"
#define ZP_FOUND_STORED_RECORD_AS {"CKPT-1", "race"}
#define ZP_FOUND_STORED_HOST \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,reload=1:2:1:8,schedule=2"
#define ZP_FOUND_STORED_HOST_AS {"CKPT-1", "race"}
#define ZP_FOUND_GIVEN_RECORD \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=6"
#define ZP_FOUND_GIVEN_RECORD_AS {"STAT-5", "race"}
#define ZP_FOUND_GIVEN_WAIT \
  "pp=1,dp=2,stage=1,reduce=exact,precision=fp32,M=3,bucket=16,steps=5,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0,schedule=45"
#define ZP_FOUND_GIVEN_WAIT_AS {"STAT-5", "race"}
#define ZP_FOUND_HANDED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=55"
#define ZP_FOUND_HANDED_RECORD_AS {"STEP-8", "race"}
#define ZP_FOUND_RESUMED_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_RESUMED_WAIT_AS {"STEP-8", "race"}
#define ZP_FOUND_MEANT_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_MEANT_RECORD_AS {"STEP-7", "race"}
#define ZP_FOUND_MEANT_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_MEANT_WAIT_AS {"STEP-7", "race"}
#define ZP_FOUND_DECIDED_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_DECIDED_RECORD_AS {"STEP-7", "race"}
#define ZP_FOUND_DECIDED_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_DECIDED_WAIT_AS {"STEP-7", "race"}
#define ZP_FOUND_OUT_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_OUT_RECORD_AS {"STEP-7", "race"}
#define ZP_FOUND_OUT_HOST \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=1"
#define ZP_FOUND_OUT_HOST_AS {"STEP-7", "race"}
#define ZP_FOUND_BACK_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_BACK_RECORD_AS {"STEP-8", "race"}
#define ZP_FOUND_BACK_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=3"
#define ZP_FOUND_BACK_WAIT_AS {"STEP-8", "race"}
#define ZP_FOUND_TAKEN_RECORD \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=5"
#define ZP_FOUND_TAKEN_RECORD_AS {"STEP-8", "race"}
#define ZP_FOUND_TAKEN_WAIT \
  "pp=1,dp=2,stage=2,reduce=ordered,precision=bf16,M=2,bucket=16,steps=2,seed=8080,list=10@0.0+6@0.0+9@0.0+7@0.0+12@0.0,schedule=81"
#define ZP_FOUND_TAKEN_WAIT_AS {"STEP-8", "race"}
