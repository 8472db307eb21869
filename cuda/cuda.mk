# What of cuda/ is built without a GPU: simdev, its ThreadSanitizer variant, their tests.
# Included by the Makefile.

# CUDA's headers are the toolkit's, or fetched; nccl.h is always fetched (its version counts).
CUDA_HOME  ?= /usr/local/cuda
CUDA_CACHE := $(or $(ZP_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zeroproof)
CUDA_INC   := $(if $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(CUDA_HOME)/include,$\
                $(CUDA_CACHE)/cuda-13.0/include)
NCCL_INC   := $(CUDA_CACHE)/nccl-2.30.7
CUDA_CPPFLAGS := -isystem $(CUDA_INC) -isystem $(CUDA_INC)/cccl -isystem $(NCCL_INC)
CUDA_HEADERS  := $(CUDA_INC)/cuda_runtime_api.h $(NCCL_INC)/nccl.h

# What fetches them is needed only until they are there.
PACKAGES_TEST += $(if $(and $(wildcard $(CUDA_INC)/cuda_runtime_api.h),$\
                   $(wildcard $(NCCL_INC)/nccl.h)),,python3-pip)

$(NCCL_INC)/nccl.h:
	@sh cuda/fetch_headers.sh nccl
$(CUDA_CACHE)/cuda-13.0/include/cuda_runtime_api.h:
	@sh cuda/fetch_headers.sh cuda

SIMDEV_SRC  := $(sort $(wildcard cuda/simdev/*.c))
SIMDEV_OBJ  := $(SIMDEV_SRC:%.c=$(BUILD)/%.o)
SIMDEV      := $(BUILD)/libsimdev.a
SIMDEV_TEST_SRC := $(sort $(wildcard tests/simdev/test_*.c))
SIMDEV_TESTS    := $(SIMDEV_TEST_SRC:tests/%.c=$(BUILD)/tests/%)
EXAMPLE         := $(BUILD)/cuda/simdev/example/two_producers
SIMDEV_BENCH    := $(BUILD)/tests/simdev/bench_orders

SIMDEV_PROGRAM_OBJ := $(SIMDEV_TESTS:%=%.o) $(EXAMPLE).o $(SIMDEV_BENCH).o

$(SIMDEV_OBJ) $(SIMDEV_PROGRAM_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(SIMDEV_OBJ) $(SIMDEV_PROGRAM_OBJ): | $(CUDA_HEADERS)

$(SIMDEV): $(SIMDEV_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(SIMDEV_OBJ)

$(SIMDEV_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(SIMDEV)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcriterion -lm

$(BUILD)/tests/simdev/test_device_kernels: $(CUDA_KERNEL_OBJ) $(STATIC)

$(EXAMPLE) $(SIMDEV_BENCH): %: %.o $(SIMDEV)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS)

# ---- ThreadSanitizer -----------------------------------------------------------------------------

# simdev itself is not instrumented: it tells the sanitizer what CUDA promises and nothing else, so
# no string function may be called either, as the sanitizer sees those. What runs on it (hosts,
# kernels) is. gcc, as its runtime is where gcc is.
TSAN_CC    ?= gcc
TSAN_FLAGS := -std=c11 -O2 -g -fno-omit-frame-pointer -ffp-contract=off -fno-strict-aliasing \
              -Wall -Wextra -Werror -pthread -fPIC -ffile-prefix-map=$(CURDIR)=.
SIMDEV_TSAN_OBJ := $(SIMDEV_SRC:%.c=$(BUILD)/tsan/%.o)
SIMDEV_TSAN     := $(BUILD)/libsimdev_tsan.a
RACE_SRC        := $(sort $(wildcard tests/simdev/race_*.c))
RACE_PROGRAMS   := $(RACE_SRC:tests/%.c=$(BUILD)/tests/%)

$(BUILD)/tsan/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(TSAN_CC) $(TSAN_FLAGS)' | cmp -s - $@ || \
	  printf '%s\n' '$(TSAN_CC) $(TSAN_FLAGS)' > $@

$(BUILD)/tsan/cuda/simdev/%.o: cuda/simdev/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -minline-all-stringops -DSIMDEV_TSAN $(CUDA_CPPFLAGS) -MMD -MP \
	  -c $< -o $@

$(BUILD)/tsan/%.o: %.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/tsan/cuda/simdev/example/%.o: cuda/simdev/example/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@

$(SIMDEV_TSAN): $(SIMDEV_TSAN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(SIMDEV_TSAN_OBJ)

$(RACE_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/tsan/tests/%.o $(SIMDEV_TSAN)
$(SIMDEV_BENCH)_tsan: $(BUILD)/tsan/tests/simdev/bench_orders.o $(SIMDEV_TSAN)
$(EXAMPLE)_tsan: $(BUILD)/tsan/cuda/simdev/example/two_producers.o $(SIMDEV_TSAN)
$(RACE_PROGRAMS) $(EXAMPLE)_tsan $(SIMDEV_BENCH)_tsan:
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(TSAN_CC) -o $@ $^ -fsanitize=thread -pthread

.PHONY: simdev
simdev: $(SIMDEV) $(SIMDEV_TSAN) ## build libsimdev: CUDA's runtime and NCCL on the CPU

.PHONY: simdev-bench
simdev-bench: $(SIMDEV_BENCH) $(SIMDEV_BENCH)_tsan ## measure how many orders simdev runs in an hour
	@$(SIMDEV_BENCH) 20000
	@$(SIMDEV_BENCH)_tsan 2000

unit: $(SIMDEV_TESTS) $(RACE_PROGRAMS) $(EXAMPLE) $(EXAMPLE)_tsan

-include $(SIMDEV_OBJ:%.o=%.d) $(SIMDEV_TESTS:%=%.d) $(SIMDEV_TSAN_OBJ:%.o=%.d) \
         $(RACE_PROGRAMS:$(BUILD)/%=$(BUILD)/tsan/%.d) $(EXAMPLE).d
