# NCCL between threads on one device, and the programs that run the CUDA engine on it over simdev.
# Included by the Makefile after trial.mk.

LOOPBACK_SRC := cuda/loopback/calls.c cuda/loopback/comm.c cuda/loopback/device.c \
                cuda/loopback/group.c cuda/loopback/meet.c cuda/loopback/move.c
LOOPBACK_OBJ := $(LOOPBACK_SRC:%.c=$(BUILD)/%.o)
LOOPBACK     := $(BUILD)/libzploopback.a
LOOPBACK_TSAN_OBJ := $(LOOPBACK_SRC:%.c=$(BUILD)/tsan/%.o)
LOOPBACK_TSAN     := $(BUILD)/tsan/libzploopback.a
LOOPBACK_MAIN     := cuda/loopback/main

$(LOOPBACK_OBJ) $(BUILD)/$(LOOPBACK_MAIN).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(LOOPBACK_OBJ) $(BUILD)/$(LOOPBACK_MAIN).o: | $(CUDA_HEADERS)

$(BUILD)/tsan/cuda/loopback/%.o: cuda/loopback/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@
# Hosts of simdev share its thread-local group, and switch nowhere in it.
$(BUILD)/tsan/cuda/loopback/group.o: cuda/loopback/group.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -minline-all-stringops $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@

$(LOOPBACK): $(LOOPBACK_OBJ)
$(LOOPBACK_TSAN): $(LOOPBACK_TSAN_OBJ)
$(LOOPBACK) $(LOOPBACK_TSAN):
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# simdev's CUDA runtime alone: its NCCL yields to another.
SIMDEV_RUNTIME      := $(BUILD)/libsimdev_runtime.a
SIMDEV_RUNTIME_TSAN := $(BUILD)/libsimdev_runtime_tsan.a
$(SIMDEV_RUNTIME): $(SIMDEV)
$(SIMDEV_RUNTIME_TSAN): $(SIMDEV_TSAN)
$(SIMDEV_RUNTIME) $(SIMDEV_RUNTIME_TSAN):
	$(say) AR $@
	$(Q)objcopy -w --weaken-symbol='nccl[A-Z]*' $< $@

LOOPBACK_COMMAND      := $(BUILD)/zeroproof-loopback
LOOPBACK_TSAN_COMMAND := $(BUILD)/zeroproof-loopback-tsan
$(LOOPBACK_COMMAND): $(BUILD)/$(LOOPBACK_MAIN).o $(TRIAL) $(ENGINE) $(ZP_PATH) $(LOOPBACK) \
  $(SIMDEV_RUNTIME) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))
$(LOOPBACK_TSAN_COMMAND): $(BUILD)/tsan/$(LOOPBACK_MAIN).o $(TRIAL_TSAN) $(LOOPBACK_TSAN) \
  $(SIMDEV_RUNTIME_TSAN)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

# ---- Trials of 2 to 24 ranks: one program on simdev, on threads, and on a device -----------------

LOOPBACK_TRIALS := $(BUILD)/loopback_trials
$(LOOPBACK_TRIALS).o: cuda/loopback/trials.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -c $< -o $@
$(LOOPBACK_TRIALS): $(LOOPBACK_TRIALS).o $(TRIAL) $(ENGINE) $(ZP_PATH) $(LOOPBACK) \
  $(SIMDEV_RUNTIME) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))

# On a device ranks are threads. So they are here, on a device that does everything at once.
LOOPBACK_THREADS := $(BUILD)/tests/cuda/loopback_threads
LOOPBACK_NEAR    := $(BUILD)/cuda/loopback/hosts.o $(BUILD)/cuda/loopback/near.o
LOOPBACK_WRAP    := $(foreach f,Malloc Free MallocHost FreeHost HostRegister MemcpyAsync,-Wl,--wrap=cuda$(f))
$(LOOPBACK_NEAR): CPPFLAGS += $(CUDA_CPPFLAGS)
$(LOOPBACK_NEAR): | $(CUDA_HEADERS)
$(LOOPBACK_TRIALS)_threads.o: cuda/loopback/trials.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (threads)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DZP_ON_THREADS -c $< -o $@
$(BUILD)/tests/cuda/at_once_runtime.o: $(BUILD)/tests/cuda/at_once.o
	$(Q)objcopy -w --weaken-symbol='nccl[A-Z]*' $< $@
$(LOOPBACK_THREADS): $(LOOPBACK_TRIALS)_threads.o $(LOOPBACK_NEAR) \
  $(BUILD)/tests/cuda/at_once_runtime.o $(LOOPBACK_OBJ) $(TRIAL) $(ENGINE) $(ZP_PATH) \
  $(BUILD)/libzpcli.a $(STATIC)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LOOPBACK_WRAP) $(LIBS))

unit: $(LOOPBACK_TRIALS) $(LOOPBACK_THREADS)

.PHONY: loopback-command
loopback-command: ## build the twin's trials with all ranks on one device
loopback-command: $(LOOPBACK_COMMAND) $(LOOPBACK_TSAN_COMMAND)

unit: loopback-command

# On a device: the kernels of nvcc, CUDA's runtime. What programs need of other libraries is in
# GPU_LIBS (make gpu-libs), where the machine has none.
GPU_LIBS   ?= gpu-libs
GPU_TRIALS := $(BUILD)/gpu/loopback_trials
GPU_LINK    = $(if $(wildcard $(GPU_LIBS)/lib),-L$(GPU_LIBS)/lib,) -ljansson -lxxhash $(GPU_RUNTIME)
GPU_RUNTIME = -L$(CUDA_LIB) -lcudart_static $(GPU_DRIVER) -lstdc++ -ldl -lrt -pthread -lm
# Programs start on machines with a driver, and are linked without one, too.
GPU_DRIVER  = $(firstword $(wildcard $(CUDA_HOME)/lib64/stubs/libcuda.so $(CUDA_HOME)/lib/stubs/libcuda.so) \
                $(wildcard /usr/local/nvidia/lib64/libcuda.so.1 /usr/lib/*/libcuda.so.1) \
                $(BUILD)/gpu/libcuda.so.1)
$(BUILD)/gpu/libcuda.so.1:
	@mkdir -p $(@D)
	$(Q)printf 'int cuStreamWriteValue32_v2(void) { return 999; }\n' | \
	  $(CC) -shared -Wl,-soname,libcuda.so.1 -x c - -o $@
$(BUILD)/gpu/loopback.o: cuda/loopback/device.cu $(wildcard cuda/loopback/*.h cuda/kernels/*.h)
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
	  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@
$(GPU_TRIALS): $(LOOPBACK_TRIALS)_threads.o $(LOOPBACK_NEAR) $(BUILD)/gpu/loopback.o \
  $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/model/device.o \
  $(filter-out %/device.o,$(LOOPBACK_OBJ)) $(TRIAL) $(ENGINE) \
  $(ZP_PATH) $(BUILD)/libzpgpu.a $(STATIC) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LOOPBACK_WRAP) $(GPU_LINK))
# The command's part without MPI.
GPU_CLI_OBJ := $(filter-out $(foreach n,cli/env cli/launch cli/train engine/comm_mpi,\
                 $(BUILD)/ref/$(n)%),$(CLI_OBJ))
$(BUILD)/libzpgpu.a: $(GPU_CLI_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

LOOPBACK_TEST := $(BUILD)/tests/cuda/test_loopback
$(LOOPBACK_TEST).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(LOOPBACK_TEST).o: | $(CUDA_HEADERS)
$(LOOPBACK_TEST): $(LOOPBACK_TEST).o $(LOOPBACK_OBJ) $(SIMDEV_RUNTIME)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion -lm)
unit: $(LOOPBACK_TEST)
