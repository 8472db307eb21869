# The CUDA engine as a backend of ref/verify: a library, and its tests.
# Included by the Makefile after engine.mk.

CUDA_VERIFY_SRC := $(sort $(wildcard cuda/verify/*.c))
CUDA_VERIFY_OBJ := $(CUDA_VERIFY_SRC:%.c=$(BUILD)/%.o)

$(CUDA_VERIFY_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(CUDA_VERIFY_OBJ): | $(CUDA_HEADERS)

$(CUDA_VERIFY): $(CUDA_VERIFY_OBJ) $(GPT_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# ---- ThreadSanitizer -----------------------------------------------------------------------------

# Instrumented: the engine, the kernels, the comparison, and ref; also the command, which must be
# compiled without other sanitizers.
CUDA_VERIFY_TSAN_OBJ := $(patsubst %.c,$(BUILD)/tsan/%.o,$(CUDA_VERIFY_SRC) $(GPT_SRC) \
                    $(ENGINE_SRC) $(HOST_OPTIMIZER_SRC) \
                    $(CUDA_KERNEL_SRC) \
                    $(HAPPENS_BEFORE_SRC) $(CLI_SRC) $(LIB_SRC))

$(BUILD)/tsan/ref/engine/build_info.o: $(BUILD)/identity
$(BUILD)/tsan/ref/engine/build_info.o: CPPFLAGS += $$(cat $(BUILD)/identity)

$(CUDA_VERIFY_TSAN): $(CUDA_VERIFY_TSAN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(CUDA_VERIFY_TSAN_OBJ)

# ---- Long runs -----------------------------------------------------------------------------------

SECONDS ?= 600
.PHONY: fuzz-cuda
fuzz-cuda: ## long differential fuzz of the CUDA engine: SECONDS=600 in each build (SEED=...)
fuzz-cuda: simdev-command
	@seed=$(or $(SEED),$$(date +%s)); \
	$(COMMAND) fuzz --engine cuda --seconds $(SECONDS) --seed $$seed && \
	$(COMMAND) fuzz --engine cuda --tsan --seconds $(SECONDS) --seed $$seed

# ---- Injected faults -----------------------------------------------------------------------------

FAULT_HUNT := $(addprefix $(BUILD)/tests/drivers/cuda/,engine_faults engine_faults_tsan)
.PHONY: faults
faults: $(FAULT_HUNT) ## search again for cases in which each injected fault is found
	cuda/verify/find_faults.sh $(BUILD) >$(BUILD)/found.h
	mv $(BUILD)/found.h cuda/verify/faults_found.h
	$(MAKE) $(FAULT_HUNT)
	sed -i '/^| N | sync point/,$$d' cuda/README.md
	$(BUILD)/tests/drivers/cuda/engine_faults table >>cuda/README.md

# ---- Graphs of the engine's runs -----------------------------------------------------------------

ENGINE_GRAPH := $(BUILD)/tests/drivers/cuda/engine_graph

$(ENGINE_GRAPH).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_GRAPH).o: | $(CUDA_HEADERS)
$(ENGINE_GRAPH): $(ENGINE_GRAPH).o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(ENGINE_GRAPH)

# ---- Tests ---------------------------------------------------------------------------------------

VERIFY_TESTS := $(addprefix $(BUILD)/tests/cuda/, \
  cost/test_cost happens_before/test_happens_before verify/test_ledger)
$(VERIFY_TESTS:%=%.o): CPPFLAGS += $(CUDA_CPPFLAGS)
$(VERIFY_TESTS:%=%.o): | $(CUDA_HEADERS)
$(VERIFY_TESTS): %: %.o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion $(LIBS) $(MPI_LIBS))
unit: $(VERIFY_TESTS)

# ---- Timelines -----------------------------------------------------------------------------------

ENGINE_TIMELINE := $(BUILD)/tests/drivers/cuda/engine_timeline
$(ENGINE_TIMELINE).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_TIMELINE).o: | $(CUDA_HEADERS)
$(ENGINE_TIMELINE): $(ENGINE_TIMELINE).o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(ENGINE_TIMELINE)

# ---- How many orders an hour ---------------------------------------------------------------------

SCHEDULES_BENCH := $(BUILD)/tests/bench/bench_schedules

$(SCHEDULES_BENCH).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(SCHEDULES_BENCH): $(SCHEDULES_BENCH).o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))
$(SCHEDULES_BENCH)_tsan: $(BUILD)/tsan/tests/bench/bench_schedules.o $(CUDA_VERIFY_TSAN_LINK)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

.PHONY: fuzz-cuda-bench
fuzz-cuda-bench: ## measure how many orders of the CUDA engine run in an hour
fuzz-cuda-bench: $(SCHEDULES_BENCH) $(SCHEDULES_BENCH)_tsan
	@$(SCHEDULES_BENCH) 1000 60
	@$(SCHEDULES_BENCH)_tsan 1000 240
