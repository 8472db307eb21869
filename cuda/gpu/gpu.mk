# Checks and measurements on a GPU; all but the device's own numbers also on simdev.
# Included by the Makefile after loopback.mk.

# What checks and measures kernels needs CUDA and nothing else: no NCCL, no library; of ours what is
# pure, and comm.o, which has the names.
GPU_OBJ := $(patsubst %,$(BUILD)/cuda/gpu/%.o,kernel_check check_main main_sim main_device)
$(GPU_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPU_OBJ): | $(firstword $(CUDA_HEADERS))
GPU_PURE := $(filter $(BUILD)/ref/plan/% $(BUILD)/ref/num/% %/engine/comm.o,$(LIB_OBJ))

# The bodies as the C compiler makes them, beside nvcc's. A sanitizer has a symbol for each handle.
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

# ---- Measurements --------------------------------------------------------------------------------

KERNEL_BENCH     := $(BUILD)/kernel_bench
GPU_KERNEL_BENCH := $(BUILD)/gpu/kernel_bench
BENCH_OBJ := $(patsubst %,$(BUILD)/cuda/gpu/%.o,bench probe)
$(BENCH_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(BENCH_OBJ): | $(firstword $(CUDA_HEADERS))
$(BUILD)/gpu/bench.o: cuda/gpu/bench.c $(BUILD)/flags | $(firstword $(CUDA_HEADERS))
	@mkdir -p $(@D)
	$(say) CC "$< (device)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DZP_ON_THREADS -c $< -o $@
$(BUILD)/gpu/probe.o: cuda/gpu/probe.cu $(wildcard cuda/gpu/*.h cuda/kernels/*.h)
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
	  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@
$(KERNEL_BENCH): $(BUILD)/cuda/gpu/main_sim.o $(BENCH_OBJ) $(BUILD)/cuda/kernels/kernels.o \
  $(BUILD)/cuda/kernels/launch.o $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))
$(GPU_KERNEL_BENCH): $(BUILD)/cuda/gpu/main_device.o $(BUILD)/gpu/bench.o $(BUILD)/gpu/probe.o \
  $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/kernels/launch.o $(GPU_PURE) | \
  $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_RUNTIME))

# ---- gpt -----------------------------------------------------------------------------------------

# `zeroproof train --engine cuda` on a device; and the same program here, on a device of the tests'
# own that does everything at once. What gpt's kernels keep, and its decoded parameters, nobody on
# the host reads: they are the device's own memory, the rest is near (cuda/loopback/near.c).
GPU_COMMAND     := $(BUILD)/zeroproof-cuda
THREADS_COMMAND := $(BUILD)/tests/cuda/zeroproof_threads
COMMAND_OBJ     := $(BUILD)/cuda/gpu/command.o $(BUILD)/cuda/gpu/no_mpi.o
$(COMMAND_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS) -DZP_ON_THREADS
$(COMMAND_OBJ): | $(CUDA_HEADERS)
OWN_MEMORY = objcopy --redefine-sym cudaMalloc=__real_cudaMalloc \
             --redefine-sym cudaFree=__real_cudaFree
$(BUILD)/gpu/%.o: $(BUILD)/cuda/model/%.o
	@mkdir -p $(@D)
	$(Q)$(OWN_MEMORY) $< $@
COMMAND_LINK := $(COMMAND_OBJ) $(BUILD)/gpu/gpt.o $(BUILD)/gpu/judge.o $(LOOPBACK_NEAR) \
  $(filter $(BUILD)/ref/cli/train%,$(CLI_OBJ)) $(filter-out %/device.o,$(LOOPBACK_OBJ))
COMMAND_LIBS := $(TRIAL) $(ENGINE) $(ZP_PATH) $(BUILD)/libzpgpu.a $(STATIC)
# cuBLASLt's products, where it is; and here, on the same device, by the stand-in of the tests, which
# adds in another order.
$(GPU_COMMAND): $(BUILD)/gpu/library
$(GPU_COMMAND): $(COMMAND_LINK) $(if $(MODEL_LT),$(BUILD)/gpu/product_cublaslt.o) \
  $(BUILD)/gpu/loopback.o $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/model/device.o \
  $(COMMAND_LIBS) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(Q)$(CC) -o $@ $(filter-out %/library,$^) $(ALL_LDFLAGS) $(LOOPBACK_WRAP) \
	  $(MODEL_DEVICE_LIBS) $(GPU_LINK)
.PHONY: gpu-command install-gpu-command uninstall-gpu-command
gpu-command: $(GPU_COMMAND) ## build `zeroproof train --engine cuda` for a GPU (CUBLAS_INC, CUBLAS_LIB)
# As it was built: with cuBLASLt, or without.
install-gpu-command:
	@test -x $(GPU_COMMAND) || { echo "$(GPU_COMMAND) is not there: make gpu-command" >&2; exit 1; }
	install -d $(dest)/bin
	install -m 755 $(GPU_COMMAND) $(dest)/bin
uninstall-gpu-command:
	rm -f $(dest)/bin/$(notdir $(GPU_COMMAND))
install: $(if $(wildcard $(GPU_COMMAND)),install-gpu-command)
uninstall: uninstall-gpu-command
THREADS_LT_COMMAND := $(THREADS_COMMAND)_lt
$(BUILD)/gpu/fake_cublaslt.o: $(BUILD)/fake_cublas/cuda/model/product_cublaslt.o
	@mkdir -p $(@D)
	$(Q)$(OWN_MEMORY) $< $@
$(THREADS_LT_COMMAND): $(COMMAND_LINK) $(BUILD)/gpu/fake_cublaslt.o \
  $(addprefix $(BUILD)/fake_cublas/tests/cuda/fake_cublas/,cublaslt.o orders.o) \
  $(BUILD)/tests/cuda/product_orders.o $(BUILD)/cuda/loopback/device.o \
  $(BUILD)/tests/cuda/at_once_runtime.o $(COMMAND_LIBS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LOOPBACK_WRAP) $(LIBS))
$(THREADS_COMMAND): $(COMMAND_LINK) $(BUILD)/cuda/loopback/device.o \
  $(BUILD)/tests/cuda/at_once_runtime.o $(COMMAND_LIBS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LOOPBACK_WRAP) $(LIBS))
unit: $(THREADS_COMMAND) $(THREADS_LT_COMMAND)

# ---- The engine over real NCCL -------------------------------------------------------------------

# The example of the public functions, and the tests' driver of them, which judges itself and offloads,
# too. Which NCCL they meet is decided when they start (nccl_ranks.py): they are linked with
# one that has the names alone.
GPU_EXAMPLE := $(BUILD)/gpu/example
GPU_JOB     := $(BUILD)/gpu/engine_driver
$(GPU_EXAMPLE).o: ref/example/train.c
$(GPU_JOB).o: tests/mpi/engine_driver.c
$(GPU_EXAMPLE).o $(GPU_JOB).o: $(BUILD)/flags | $(CUDA_HEADERS) $(API_HEADER)
	@mkdir -p $(@D)
	$(say) CC "$(filter %.c,$^) (device)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DCUDA -I$(BUILD)/include -I. \
	  -c $(filter %.c,$^) -o $@
$(BUILD)/gpu/libnccl.so.2: $(CUDA_LIBRARY)
	@mkdir -p $(@D)
	$(Q)nm $< | sed -n 's/.* U \(nccl[A-Za-z]*\)$$/int \1(void) { return 1; }/p' | sort -u | \
	  $(CC) -shared -Wl,-soname,libnccl.so.2 -x c - -o $@
$(GPU_EXAMPLE) $(GPU_JOB): %: %.o $(CUDA_LIBRARY) $(STATIC) $(BUILD)/gpu/libnccl.so.2 | \
  $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPU_LINK))

# ---- One command ---------------------------------------------------------------------------------

DEVICE ?= gpu
.PHONY: gpu-programs-gpu gpu-programs-sim gpu-check gpu-libs
gpu-programs-gpu: $(GPU_KERNEL_CHECK) $(GPU_KERNEL_BENCH) $(GPU_TRIALS) $(GPU_COMMAND) \
  $(GPU_EXAMPLE) $(GPU_JOB)
gpu-programs-sim: $(KERNEL_CHECK) $(KERNEL_BENCH) $(LOOPBACK_TRIALS) $(LOOPBACK_TSAN_COMMAND) \
  $(THREADS_LT_COMMAND) $(GPT_BOUNDS)
gpu-check: ## check and measure the twin on a GPU, or on simdev: DEVICE=sim (RESULTS=FOLDER)
	@python3 -B cuda/gpu/check.py --device $(DEVICE) --build $(BUILD) \
	  $(if $(RESULTS),--results $(RESULTS)) $(if $(BUDGET),--budget $(BUDGET)) \
	  $(if $(TRIALS),--trials $(TRIALS))

# What a machine with nothing but a CUDA image lacks, to be carried there: not in git.
gpu-libs: | $(CUDA_HEADERS) ## gather what a CUDA image lacks into gpu-libs/ (SMALL_NCCL=FILE.so.xz)
	@mkdir -p $(GPU_LIBS)/include $(GPU_LIBS)/lib
	cp $$(pkg-config --variable=includedir jansson)/jansson*.h \
	  $$(pkg-config --variable=includedir libxxhash)/xx*.h $(NCCL_INC)/*.h $(GPU_LIBS)/include
	for l in jansson xxhash; do \
	  p=$$(pkg-config --exists $$l && echo $$l || echo lib$$l); \
	  cp $$(pkg-config --variable=libdir $$p)/lib$$l.a $(GPU_LIBS)/lib || exit 1; done
	$(if $(SMALL_NCCL),cp $(SMALL_NCCL) $(GPU_LIBS))
	@du -sh $(GPU_LIBS)

unit: gpu-programs-sim
