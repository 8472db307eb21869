# Programs that run the CUDA engine: `zeroproof --engine cuda` on simdev, with all ranks on one
# device, and on a GPU; random topologies. Included by the Makefile after nccl_threads.mk.

include cuda/counters/counters.mk

CUDA_CLI_OBJ := $(patsubst %,$(BUILD)/cuda/cli/%.o,simdev_main nccl_threads_main device_main)
$(CUDA_CLI_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(CUDA_CLI_OBJ): | $(CUDA_HEADERS)

# ---- On simdev -----------------------------------------------------------------------------------

SIMDEV_COMMAND      := $(BUILD)/zeroproof-simdev
SIMDEV_TSAN_COMMAND := $(BUILD)/zeroproof-simdev-tsan

$(SIMDEV_COMMAND): $(BUILD)/cuda/cli/simdev_main.o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

$(SIMDEV_TSAN_COMMAND): $(BUILD)/tsan/cuda/cli/simdev_main.o $(CUDA_VERIFY_TSAN_LINK)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

# The sanitizer's objects without its runtime (cuda/simdev/sanitizer): a log of the sanitizer's
# calls is written instead, or the accessed bytes are counted.
SIMDEV_STREAMS_COMMAND  := $(BUILD)/zeroproof-simdev-streams
SIMDEV_COUNTERS_COMMAND := $(BUILD)/zeroproof-simdev-counters
SIMDEV_LOG := $(addprefix $(BUILD)/tsan/cuda/simdev/,streams/log.o sanitizer/names.o)
$(SIMDEV_STREAMS_COMMAND): $(BUILD)/tsan/cuda/cli/streams_main.o $(SIMDEV_LOG) \
  $(CUDA_VERIFY_TSAN_LINK)
$(SIMDEV_COUNTERS_COMMAND): $(BUILD)/tsan/cuda/cli/counters_main.o $(COUNTERS_OBJ) \
  $(SIMDEV_ACCESSES) $(CUDA_VERIFY_TSAN_LINK)
$(SIMDEV_STREAMS_COMMAND) $(SIMDEV_COUNTERS_COMMAND):
	$(say) LD $@
	$(call link,$(TSAN_CC),-pthread $(SIMDEV_WATCH) $(LIBS) $(MPI_LIBS))

.PHONY: simdev-command
simdev-command: ## build the programs of `zeroproof --engine cuda`
simdev-command: $(COMMAND) $(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) $(SIMDEV_STREAMS_COMMAND) \
  $(SIMDEV_COUNTERS_COMMAND)

unit: simdev-command

# Separate from install, which installs them only if they are built, and so fetches no headers.
.PHONY: install-simdev-command uninstall-simdev-command
install-simdev-command: ## install these programs with zeroproof, under PREFIX (and DESTDIR)
install-simdev-command: simdev-command
	install -d $(dest)/bin
	install -m 755 $(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) $(SIMDEV_STREAMS_COMMAND) \
	  $(SIMDEV_COUNTERS_COMMAND) $(dest)/bin
	install -d $(dest)/share/zeroproof/machines
	install -m 644 cuda/cost/machines/*.json $(dest)/share/zeroproof/machines
uninstall-simdev-command:
	rm -f $(patsubst $(BUILD)/%,$(dest)/bin/%,$(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) \
	  $(SIMDEV_STREAMS_COMMAND) $(SIMDEV_COUNTERS_COMMAND))
install: $(if $(wildcard $(SIMDEV_COMMAND)),install-simdev-command)
uninstall: uninstall-simdev-command

# ---- All ranks on one device of simdev -----------------------------------------------------------

NCCL_THREADS_COMMAND      := $(BUILD)/zeroproof-nccl-threads
NCCL_THREADS_TSAN_COMMAND := $(BUILD)/zeroproof-nccl-threads-tsan
$(NCCL_THREADS_COMMAND): $(BUILD)/cuda/cli/nccl_threads_main.o $(CUDA_VERIFY) $(ENGINE) \
  $(HAPPENS_BEFORE) $(NCCL_THREADS) $(SIMDEV_RUNTIME) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))
	$(Q)ln -sf $(@F) $(@D)/zeroproof-loopback # its old name
$(NCCL_THREADS_TSAN_COMMAND): $(BUILD)/tsan/cuda/cli/nccl_threads_main.o $(CUDA_VERIFY_TSAN) \
  $(NCCL_THREADS_TSAN) $(SIMDEV_RUNTIME_TSAN)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))
	$(Q)ln -sf $(@F) $(@D)/zeroproof-loopback-tsan

.PHONY: nccl-threads-command loopback-command
nccl-threads-command: ## build zeroproof-simdev with all ranks on one device
nccl-threads-command: $(NCCL_THREADS_COMMAND) $(NCCL_THREADS_TSAN_COMMAND)
loopback-command: nccl-threads-command # its old name

unit: nccl-threads-command

# ---- Random topologies: one program on simdev, on threads, and on a device -----------------------

# Ranks are hosts of simdev, or, compiled with ZP_ON_THREADS, POSIX threads.
RANDOM_TOPOLOGIES         := $(BUILD)/random_topologies
RANDOM_TOPOLOGIES_THREADS := $(BUILD)/tests/drivers/cuda/random_topologies_threads
GPU_RANDOM_TOPOLOGIES     := $(BUILD)/gpu/random_topologies
$(RANDOM_TOPOLOGIES)_threads.o: ON_THREADS := -DZP_ON_THREADS
$(RANDOM_TOPOLOGIES).o $(RANDOM_TOPOLOGIES)_threads.o: cuda/cli/random_topologies.c $(BUILD)/flags \
  | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$<$(if $(ON_THREADS), (threads))"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) $(ON_THREADS) -c $< -o $@)
$(RANDOM_TOPOLOGIES): $(RANDOM_TOPOLOGIES).o $(CUDA_VERIFY) $(ENGINE) $(HAPPENS_BEFORE) \
  $(NCCL_THREADS) $(SIMDEV_RUNTIME) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))

# On a device the ranks are threads. The tests have a device that executes each call at once.
ON_DEVICE_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(wildcard cuda/one_device/*.c))
ON_DEVICE_WRAP := $(foreach f,Malloc Free MallocHost FreeHost HostRegister MemcpyAsync,$\
                    -Wl,--wrap=cuda$(f))
AT_ONCE_RUNTIME := $(BUILD)/tests/drivers/cuda/at_once_runtime.o
$(ON_DEVICE_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ON_DEVICE_OBJ): | $(CUDA_HEADERS)
$(AT_ONCE_RUNTIME): $(BUILD)/tests/drivers/cuda/at_once.o
	$(Q)objcopy -w --weaken-symbol='nccl[A-Z]*' $< $@
$(RANDOM_TOPOLOGIES_THREADS): $(RANDOM_TOPOLOGIES)_threads.o $(ON_DEVICE_OBJ) $(AT_ONCE_RUNTIME) \
  $(NCCL_THREADS_OBJ) $(CUDA_VERIFY) $(ENGINE) $(HAPPENS_BEFORE) $(BUILD)/libzpcli.a $(STATIC)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(ON_DEVICE_WRAP) $(LIBS))

# On a device: nvcc's kernels, CUDA's runtime, and the part of the command that requires no MPI.
$(GPU_RANDOM_TOPOLOGIES): $(RANDOM_TOPOLOGIES)_threads.o $(ON_DEVICE_OBJ) \
  $(NCCL_THREADS_DEVICE_OBJ) $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/gpt/device.o \
  $(NCCL_THREADS_HOST_OBJ) $(CUDA_VERIFY) $(ENGINE) $(HAPPENS_BEFORE) $(BUILD)/libzpgpu.a \
  $(STATIC) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(ON_DEVICE_WRAP) $(GPU_LINK))
GPU_CLI_OBJ := $(filter-out $(foreach n,cli/env cli/launch cli/train comm/mpi/,\
                 $(BUILD)/ref/$(n)%),$(CLI_OBJ))
$(BUILD)/libzpgpu.a: $(GPU_CLI_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

unit: $(RANDOM_TOPOLOGIES) $(RANDOM_TOPOLOGIES_THREADS)

# ---- `zeroproof train --engine cuda` on a GPU ----------------------------------------------------

# And the same program on the tests' device that executes each call at once. The memory of gpt's
# kernels, which the host does not read, is device memory; the rest is pinned
# (cuda/one_device/pinned_memory.c).
GPU_COMMAND     := $(BUILD)/zeroproof-cuda
THREADS_COMMAND := $(BUILD)/tests/drivers/cuda/zeroproof_threads
COMMAND_OBJ     := $(BUILD)/cuda/cli/device_main.o $(BUILD)/ref/comm/no_mpi/comm_no_mpi.o
$(COMMAND_OBJ): CPPFLAGS += -DZP_ON_THREADS
OWN_MEMORY = objcopy --redefine-sym cudaMalloc=__real_cudaMalloc \
             --redefine-sym cudaFree=__real_cudaFree
$(BUILD)/gpu/%.o: $(BUILD)/cuda/gpt/%.o
	@mkdir -p $(@D)
	$(Q)$(OWN_MEMORY) $< $@
COMMAND_LINK := $(COMMAND_OBJ) $(BUILD)/gpu/gpt.o $(BUILD)/gpu/judge.o $(ON_DEVICE_OBJ) \
  $(filter $(BUILD)/ref/cli/train%,$(CLI_OBJ)) $(NCCL_THREADS_HOST_OBJ)
COMMAND_LIBS := $(CUDA_VERIFY) $(ENGINE) $(HAPPENS_BEFORE) $(BUILD)/libzpgpu.a $(STATIC)
# With cuBLASLt if it is installed; here with the tests' stand-in, which adds in another order.
$(GPU_COMMAND): $(BUILD)/gpu/library
$(GPU_COMMAND): $(COMMAND_LINK) $(if $(GPT_LT),$(BUILD)/gpu/product_cublaslt.o) \
  $(NCCL_THREADS_DEVICE_OBJ) $(BUILD)/cuda/kernels/device.o $(BUILD)/cuda/gpt/device.o \
  $(COMMAND_LIBS) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(Q)$(CC) -o $@ $(filter-out %/library,$^) $(ALL_LDFLAGS) $(ON_DEVICE_WRAP) \
	  $(GPT_DEVICE_LIBS) $(GPU_LINK)
.PHONY: gpu-command install-gpu-command uninstall-gpu-command
gpu-command: ## build `zeroproof train --engine cuda` for a GPU (CUBLAS_INC, CUBLAS_LIB)
gpu-command: $(GPU_COMMAND)
# Installs the program as it was built, with or without cuBLASLt.
install-gpu-command:
	@test -x $(GPU_COMMAND) || { echo "$(GPU_COMMAND) is not there: make gpu-command" >&2; exit 1; }
	install -d $(dest)/bin
	install -m 755 $(GPU_COMMAND) $(dest)/bin
uninstall-gpu-command:
	rm -f $(dest)/bin/$(notdir $(GPU_COMMAND))
install: $(if $(wildcard $(GPU_COMMAND)),install-gpu-command)
uninstall: uninstall-gpu-command
THREADS_LT_COMMAND := $(THREADS_COMMAND)_lt
$(BUILD)/gpu/fake_cublaslt.o: $(BUILD)/fake_cublas/cuda/gpt/product_cublaslt.o
	@mkdir -p $(@D)
	$(Q)$(OWN_MEMORY) $< $@
$(THREADS_LT_COMMAND): $(COMMAND_LINK) $(BUILD)/gpu/fake_cublaslt.o \
  $(addprefix $(BUILD)/fake_cublas/tests/fixtures/fake_cublas/,cublaslt.o orders.o) \
  $(BUILD)/tests/drivers/cuda/product_orders.o $(BUILD)/cuda/nccl_threads/device.o \
  $(AT_ONCE_RUNTIME) $(COMMAND_LIBS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(ON_DEVICE_WRAP) $(LIBS))
$(THREADS_COMMAND): $(COMMAND_LINK) $(BUILD)/cuda/nccl_threads/device.o \
  $(AT_ONCE_RUNTIME) $(COMMAND_LIBS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(ON_DEVICE_WRAP) $(LIBS))
unit: $(THREADS_COMMAND) $(THREADS_LT_COMMAND)
