# Checks and measurements on a GPU; all except the device's numbers also run on simdev.
# Included by the Makefile after cli.mk.

# What programs for a device are linked with. GPU_LIBS (make gpu-libs) holds libraries for a machine
# that lacks them.
GPU_LIBS   ?= gpu-libs
GPU_LINK    = $(if $(wildcard $(GPU_LIBS)/lib),-L$(GPU_LIBS)/lib,) -ljansson -lxxhash $(GPU_RUNTIME)
GPU_RUNTIME = -L$(CUDA_LIB) -lcudart_static $(GPU_DRIVER) -lstdc++ -ldl -lrt -pthread -lm
# Programs run on machines with a driver, and can be linked on machines without one.
GPU_DRIVER  = $(firstword $(wildcard $(CUDA_HOME)/lib64/stubs/libcuda.so) \
                $(wildcard $(CUDA_HOME)/lib/stubs/libcuda.so) \
                $(wildcard /usr/local/nvidia/lib64/libcuda.so.1 /usr/lib/*/libcuda.so.1) \
                $(BUILD)/gpu/libcuda.so.1)
$(BUILD)/gpu/libcuda.so.1:
	@mkdir -p $(@D)
	$(Q)printf 'int cuStreamWriteValue32_v2(void) { return 999; }\n' | \
	  $(CC) -shared -Wl,-soname,libcuda.so.1 -x c - -o $@

# Programs that check and measure kernels link CUDA only; of ref its pure functions, and comm.o for
# names.
GPU_OBJ := $(patsubst %,$(BUILD)/cuda/gpu/%.o,kernel_check check_main main_sim main_device \
  host_device)
$(GPU_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPU_OBJ): | $(firstword $(CUDA_HEADERS))
GPU_PURE := $(filter $(BUILD)/ref/plan/% $(BUILD)/ref/num/% %/comm/comm.o %/base/clock.o,$(LIB_OBJ))

# The C compiler's kernels, renamed, as nvcc's have the same names. Sanitizers add symbols.
$(BUILD)/gpu/host_kernels.o: $(BUILD)/cuda/kernels/kernels.o
	@mkdir -p $(@D)
	$(Q)objcopy $$(nm $< | sed -n \
	  's/.* \([^ ]*\)zp_kernel_\([a-z_]*\)$$/--redefine-sym \1zp_kernel_\2=\1zp_host_kernel_\2/p') \
	  $< $@

KERNEL_CHECK     := $(BUILD)/kernel_check
GPU_KERNEL_CHECK := $(BUILD)/gpu/kernel_check
CHECK_OBJ        := $(patsubst %,$(BUILD)/cuda/gpu/%.o,kernel_check check_main) \
                    $(BUILD)/gpu/host_kernels.o $(BUILD)/cuda/kernels/launch.o
$(KERNEL_CHECK): $(BUILD)/cuda/gpu/main_sim.o $(CHECK_OBJ) $(BUILD)/cuda/kernels/kernels.o \
  $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))
$(GPU_KERNEL_CHECK): $(BUILD)/cuda/gpu/main_device.o $(CHECK_OBJ) $(BUILD)/cuda/kernels/device.o \
  $(GPU_PURE) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_RUNTIME))

LARGE_CHECK     := $(BUILD)/large_check
GPU_LARGE_CHECK := $(BUILD)/gpu/large_check
LARGE_OBJ       := $(patsubst %,$(BUILD)/cuda/gpu/%.o,large_check states) \
                   $(BUILD)/cuda/kernels/launch.o
$(LARGE_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(LARGE_OBJ): | $(firstword $(CUDA_HEADERS))
$(LARGE_CHECK): $(BUILD)/cuda/gpu/main_sim.o $(LARGE_OBJ) $(BUILD)/cuda/gpu/probe.o \
  $(BUILD)/cuda/kernels/kernels.o $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))
$(GPU_LARGE_CHECK): $(BUILD)/cuda/gpu/main_device.o $(LARGE_OBJ) $(BUILD)/gpu/probe.o \
  $(BUILD)/cuda/kernels/device.o $(GPU_PURE) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_RUNTIME))

# ---- Measurements --------------------------------------------------------------------------------

KERNEL_BENCH     := $(BUILD)/kernel_bench
GPU_KERNEL_BENCH := $(BUILD)/gpu/kernel_bench
BENCH_OBJ := $(patsubst %,$(BUILD)/cuda/gpu/%.o,bench measure probe states)
$(BENCH_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(BENCH_OBJ): | $(firstword $(CUDA_HEADERS))
$(BUILD)/gpu/measure.o: cuda/gpu/measure.c $(BUILD)/flags | $(firstword $(CUDA_HEADERS))
	@mkdir -p $(@D)
	$(say) CC "$< (device)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DZP_ON_THREADS -c $< -o $@)
$(BUILD)/gpu/probe.o: cuda/gpu/probe.cu $(wildcard cuda/gpu/*.h cuda/kernels/*.h)
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(call nvcc,$<,$@)
$(KERNEL_BENCH): $(BUILD)/cuda/gpu/main_sim.o $(BENCH_OBJ) $(BUILD)/cuda/kernels/kernels.o \
  $(BUILD)/cuda/kernels/launch.o $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))
$(GPU_KERNEL_BENCH): $(BUILD)/cuda/gpu/main_device.o $(BUILD)/cuda/gpu/bench.o \
  $(BUILD)/cuda/gpu/states.o $(BUILD)/gpu/measure.o $(BUILD)/gpu/probe.o \
  $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/kernels/launch.o $(GPU_PURE) | \
  $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_RUNTIME))

GPU_TEST := $(BUILD)/tests/cuda/gpu/test_measure
$(GPU_TEST).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPU_TEST).o: | $(firstword $(CUDA_HEADERS))
$(GPU_TEST): $(GPU_TEST).o $(filter-out %/bench.o,$(BENCH_OBJ)) $(BUILD)/cuda/kernels/kernels.o \
  $(BUILD)/cuda/kernels/launch.o $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion $(LIBS))
unit: $(GPU_TEST)

# ---- The engine over real NCCL -------------------------------------------------------------------

# The example of the public functions, and the tests' driver, which checks itself and also offloads.
# nccl_ranks.py chooses their NCCL at run time: they are linked with a library that only has the
# names.
GPU_EXAMPLE := $(BUILD)/gpu/example
GPU_JOB     := $(BUILD)/gpu/engine_driver
$(GPU_EXAMPLE).o: ref/example/train.c
$(GPU_JOB).o: tests/drivers/mpi/engine_driver.c
$(GPU_EXAMPLE).o $(GPU_JOB).o: $(BUILD)/flags | $(CUDA_HEADERS) $(API_HEADER)
	@mkdir -p $(@D)
	$(say) CC "$(filter %.c,$^) (device)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DCUDA -I$(BUILD)/include -I. \
	  -c $(filter %.c,$^) -o $@)
$(BUILD)/gpu/libnccl.so.2: $(CUDA_LIBRARY) $(BUILD)/cuda/gpu/launch_cost.o
	@mkdir -p $(@D)
	$(Q)nm $^ | sed -n 's/.* U \(nccl[A-Za-z]*\)$$/int \1(void) { return 1; }/p' | sort -u | \
	  $(CC) -shared -Wl,-soname,libnccl.so.2 -x c - -o $@
$(GPU_EXAMPLE) $(GPU_JOB): %: %.o $(CUDA_LIBRARY) $(STATIC) $(BUILD)/gpu/libnccl.so.2 | \
  $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_LINK))

# ---- Steps of the engine -------------------------------------------------------------------------

STEP_BENCH     := $(BUILD)/step_bench
GPU_STEP_BENCH := $(BUILD)/gpu/step_bench
STEP_OBJ := $(patsubst %,$(BUILD)/cuda/gpu/%.o,step_bench gpt2 launch_cost launches) \
            $(BUILD)/cuda/counters/ideal.o
STEP_SIM := $(patsubst %,$(BUILD)/cuda/gpu/%.o,main_sim host_sim probe)
STEP_DEVICE := $(patsubst %,$(BUILD)/cuda/gpu/%.o,main_device host_device) $(BUILD)/gpu/probe.o
STEP_WRAP := -Wl,--wrap=cudaLaunchKernel,--wrap=cudaMemcpyAsync,--wrap=cudaMemsetAsync
$(STEP_OBJ) $(BUILD)/cuda/gpu/host_sim.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(STEP_OBJ) $(BUILD)/cuda/gpu/host_sim.o: | $(CUDA_HEADERS)
$(STEP_BENCH): $(STEP_SIM) $(STEP_OBJ) $(ENGINE) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(STEP_WRAP) $(LIBS))
$(GPU_STEP_BENCH): $(STEP_DEVICE) $(STEP_OBJ) $(CUDA_LIBRARY) $(STATIC) \
  $(BUILD)/gpu/libnccl.so.2 | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(STEP_WRAP) $(GPU_LINK))

GPT2_TEST := $(BUILD)/tests/cuda/gpu/test_gpt2
$(GPT2_TEST): $(GPT2_TEST).o $(BUILD)/cuda/gpu/gpt2.o
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion)
unit: $(GPT2_TEST)

# The same as libraries, for torch_trace.py; they use their own CUDA runtime, not torch's.
STEP_SHARED := -shared -Wl,-Bsymbolic
.PHONY: step-bench-library-sim step-bench-library-gpu
step-bench-library-sim: $(STEP_BENCH).so
step-bench-library-gpu: $(GPU_STEP_BENCH).so
$(STEP_BENCH).so: $(STEP_SIM) $(STEP_OBJ) $(ENGINE) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(STEP_SHARED) $(ALL_LDFLAGS) $(STEP_WRAP) $(LIBS))
$(GPU_STEP_BENCH).so: $(STEP_DEVICE) $(STEP_OBJ) $(CUDA_LIBRARY) $(STATIC) \
  $(BUILD)/gpu/libnccl.so.2 | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(STEP_SHARED) $(ALL_LDFLAGS) $(STEP_WRAP) $(GPU_LINK))

# ---- One command ---------------------------------------------------------------------------------

DEVICE ?= gpu
GPU_OVER_SIMDEV := $(patsubst %,$(BUILD)/tests/drivers/cuda/api_%,example driver)
.PHONY: gpu-programs-gpu gpu-programs-sim gpu-check gpu-libs
gpu-programs-gpu: $(GPU_KERNEL_CHECK) $(GPU_LARGE_CHECK) $(GPU_KERNEL_BENCH) $(GPU_STEP_BENCH) \
  $(GPU_RANDOM_TOPOLOGIES) $(GPU_COMMAND) $(GPU_EXAMPLE) $(GPU_JOB) \
  $(BUILD)/libzeroproof_norm.so $(SHARED)
gpu-programs-sim: $(KERNEL_CHECK) $(LARGE_CHECK) $(KERNEL_BENCH) $(STEP_BENCH) \
  $(RANDOM_TOPOLOGIES) $(NCCL_THREADS_TSAN_COMMAND) $(THREADS_LT_COMMAND) $(GPT_BOUNDS) \
  $(GPU_OVER_SIMDEV) $(BUILD)/libzeroproof_norm_simdev.so $(SHARED) $(BINDING_SHARED)
gpu-check: ## check and measure the CUDA engine on a GPU, or on simdev: DEVICE=sim (RESULTS=FOLDER)
	@python3 -B cuda/gpu/check.py --device $(DEVICE) --build $(BUILD) \
	  $(if $(RESULTS),--results $(RESULTS)) $(if $(BUDGET),--budget $(BUDGET)) \
	  $(if $(TRIALS),--trials $(TRIALS))

# Libraries that a CUDA image lacks, to be copied to such a machine: not in git.
gpu-libs: | $(CUDA_HEADERS) ## copy libraries that CUDA images lack to gpu-libs/ (SMALL_NCCL=FILE)
	@mkdir -p $(GPU_LIBS)/include $(GPU_LIBS)/lib
	cp $$(pkg-config --variable=includedir jansson)/jansson*.h \
	  $$(pkg-config --variable=includedir libxxhash)/xx*.h $(NCCL_INC)/*.h $(GPU_LIBS)/include
	for l in jansson xxhash; do \
	  p=$$(pkg-config --exists $$l && echo $$l || echo lib$$l); \
	  cp $$(pkg-config --variable=libdir $$p)/lib$$l.a $(GPU_LIBS)/lib || exit 1; done
	$(if $(SMALL_NCCL),cp $(SMALL_NCCL) $(GPU_LIBS))
	@du -sh $(GPU_LIBS)

unit: gpu-programs-sim
