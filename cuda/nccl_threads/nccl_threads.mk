# NCCL between threads on one device: a library, for devices too, and its test.
# Included by the Makefile after cuda.mk.

NCCL_THREADS_SRC := $(sort $(wildcard cuda/nccl_threads/*.c))
NCCL_THREADS_OBJ := $(NCCL_THREADS_SRC:%.c=$(BUILD)/%.o)
NCCL_THREADS     := $(BUILD)/libzpnccl_threads.a
NCCL_THREADS_TSAN_OBJ := $(NCCL_THREADS_SRC:%.c=$(BUILD)/tsan/%.o)
NCCL_THREADS_TSAN     := $(BUILD)/tsan/libzpnccl_threads.a

$(NCCL_THREADS_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(NCCL_THREADS_OBJ): | $(CUDA_HEADERS)

# Not instrumented, as simdev is not: hosts of simdev share the thread-local group (op.h).
$(BUILD)/tsan/cuda/nccl_threads/group.o: cuda/nccl_threads/group.c $(BUILD)/tsan/flags \
  | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -minline-all-stringops $(CUDA_CPPFLAGS) -MMD -MP \
	  -c $< -o $@)

$(NCCL_THREADS): $(NCCL_THREADS_OBJ)
$(NCCL_THREADS_TSAN): $(NCCL_THREADS_TSAN_OBJ)
$(NCCL_THREADS) $(NCCL_THREADS_TSAN):
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# simdev with weak NCCL symbols, so that nccl_threads replaces its NCCL.
SIMDEV_RUNTIME      := $(BUILD)/libsimdev_runtime.a
SIMDEV_RUNTIME_TSAN := $(BUILD)/libsimdev_runtime_tsan.a
$(SIMDEV_RUNTIME): $(SIMDEV)
$(SIMDEV_RUNTIME_TSAN): $(SIMDEV_TSAN)
$(SIMDEV_RUNTIME) $(SIMDEV_RUNTIME_TSAN):
	$(say) AR $@
	$(Q)objcopy -w --weaken-symbol='nccl[A-Z]*' $< $@

# For devices: the kernel as nvcc compiles it.
NCCL_THREADS_HOST_OBJ   := $(filter-out %/device.o,$(NCCL_THREADS_OBJ))
NCCL_THREADS_DEVICE_OBJ := $(BUILD)/gpu/nccl_threads.o
$(NCCL_THREADS_DEVICE_OBJ): cuda/nccl_threads/device.cu \
  $(wildcard cuda/nccl_threads/*.h cuda/kernels/*.h)
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(ZP_WERROR=$(WERROR) sh cuda/kernels/nvcc.sh --flags) \
	  -Xcompiler -fPIC $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@

NCCL_THREADS_TEST := $(BUILD)/tests/cuda/nccl_threads/test_nccl_threads
$(NCCL_THREADS_TEST).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(NCCL_THREADS_TEST).o: | $(CUDA_HEADERS)
$(NCCL_THREADS_TEST): $(NCCL_THREADS_TEST).o $(NCCL_THREADS_OBJ) $(SIMDEV_RUNTIME)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion -lm)
unit: $(NCCL_THREADS_TEST)
