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

$(ENGINE_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(ENGINE) $(ZP_PATH) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) -lcriterion $(LIBS)

# The same jobs without Criterion: engine_syncs, and engine_syncs_tsan under ThreadSanitizer, where
# all that runs on simdev is instrumented: the engine, the kernels, and what the test's model calls.
ENGINE_SYNCS := $(BUILD)/tests/cuda/engine_syncs
ENGINE_SYNCS_TSAN_OBJ := $(patsubst %.c,$(BUILD)/tsan/%.o,$(ENGINE_SRC) $(PATH_SRC) $(CUDA_KERNEL_SRC) \
                           $(filter-out ref/model/gpt% ref/engine/checkpoint% \
                             ref/engine/build_info% ref/engine/serial%,$(LIB_SRC)) \
                           tests/cuda/engine_syncs.c)

$(ENGINE_SYNCS).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_SYNCS): $(ENGINE_SYNCS).o $(ENGINE) $(ZP_PATH) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

$(BUILD)/tsan/ref/%.o: ref/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread -MMD -MP -c $< -o $@
$(BUILD)/tsan/cuda/engine/%.o: cuda/engine/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/tsan/cuda/kernels/%.o: cuda/kernels/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread -MMD -MP -c $< -o $@

$(ENGINE_SYNCS)_tsan: $(ENGINE_SYNCS_TSAN_OBJ) $(SIMDEV_TSAN)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(TSAN_CC) -o $@ $^ -fsanitize=thread -pthread -lxxhash -ljansson -lm

unit: $(ENGINE_TESTS) $(ENGINE_SYNCS) $(ENGINE_SYNCS)_tsan

-include $(ENGINE_OBJ:%.o=%.d) $(ENGINE_TESTS:%=%.d) $(ENGINE_SYNCS).d \
         $(ENGINE_SYNCS_TSAN_OBJ:%.o=%.d)
