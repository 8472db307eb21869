# The CUDA engine: plain C that is compiled with CUDA's and NCCL's headers; its tests link simdev.
# Included by the Makefile.

ENGINE_SRC := $(sort $(wildcard cuda/engine/*.c))
ENGINE_OBJ := $(ENGINE_SRC:%.c=$(BUILD)/%.o)
ENGINE     := $(BUILD)/libzpcuda.a
ENGINE_TEST_SRC := $(sort $(wildcard tests/cuda/test_engine*.c))
ENGINE_TESTS    := $(ENGINE_TEST_SRC:tests/%.c=$(BUILD)/tests/%)

$(ENGINE_OBJ) $(ENGINE_TESTS:%=%.o): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_OBJ) $(ENGINE_TESTS:%=%.o): | $(CUDA_HEADERS)

$(ENGINE): $(ENGINE_OBJ) $(CUDA_KERNEL_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# What a program that runs the engine on simdev links, in this order; made in cuda/trial/trial.mk.
TRIAL           := $(BUILD)/libzptrial.a
TRIAL_LINK      := $(TRIAL) $(ENGINE) $(ZP_PATH) $(SIMDEV) $(BUILD)/libzpcli.a $(STATIC)
TRIAL_TSAN      := $(BUILD)/tsan/libzptrial.a
TRIAL_TSAN_LINK := $(TRIAL_TSAN) $(SIMDEV_TSAN)

$(ENGINE_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(TRIAL_LINK)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcriterion $(LIBS) $(MPI_LIBS)

# Programs for scripts, plain and under ThreadSanitizer.
ENGINE_RUNS := $(patsubst %,$(BUILD)/tests/cuda/engine_%,syncs faults stored)

$(ENGINE_RUNS:%=%.o): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_RUNS): %: %.o $(TRIAL_LINK)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS)

$(BUILD)/tsan/ref/%.o: ref/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CPPFLAGS) $(MPI_CFLAGS) -c $< -o $@
$(BUILD)/tsan/cuda/engine/%.o: cuda/engine/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/tsan/cuda/kernels/%.o: cuda/kernels/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread -MMD -MP -c $< -o $@

ENGINE_THREADS := $(BUILD)/tests/cuda/engine_threads

$(BUILD)/tsan/cuda/path/%.o: cuda/path/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@

# What tests' jobs on engine_case.h call.
$(BUILD)/tests/cuda/engine_stored_tsan $(BUILD)/tests/cuda/engine_threads_tsan: \
  $(patsubst %.c,$(BUILD)/tsan/%.o,$(wildcard cuda/path/*.c))
$(ENGINE_RUNS:%=%_tsan) $(ENGINE_THREADS)_tsan: $(BUILD)/%_tsan: $(BUILD)/tsan/%.o $(TRIAL_TSAN_LINK)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(TSAN_CC) -o $@ $^ -fsanitize=thread -pthread $(LIBS) $(MPI_LIBS)

unit: $(ENGINE_TESTS) $(ENGINE_RUNS) $(ENGINE_RUNS:%=%_tsan) $(ENGINE_THREADS)_tsan

-include $(ENGINE_OBJ:%.o=%.d) $(ENGINE_TESTS:%=%.d) $(ENGINE_RUNS:%=%.d) \
         $(ENGINE_RUNS:$(BUILD)/%=$(BUILD)/tsan/%.d) $(BUILD)/tsan/tests/cuda/engine_threads.d
