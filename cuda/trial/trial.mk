# Trials of the CUDA engine on simdev against ref: a library, and the program zeroproof-simdev.
# Included by the Makefile after engine.mk.

TRIAL_SRC := $(sort $(filter-out cuda/trial/main.c cuda/trial/streams_main.c,$(wildcard cuda/trial/*.c)))
TRIAL_OBJ := $(TRIAL_SRC:%.c=$(BUILD)/%.o)

$(TRIAL_OBJ) $(BUILD)/cuda/trial/main.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(TRIAL_OBJ) $(BUILD)/cuda/trial/main.o: | $(CUDA_HEADERS)

$(TRIAL): $(TRIAL_OBJ) $(MODEL_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# ---- ThreadSanitizer -----------------------------------------------------------------------------

# All that runs on simdev is instrumented: the engine, the kernels, the trial, and what of ref/ they
# call; the command's part as well, for it has to be compiled without other sanitizers.
TRIAL_TSAN_OBJ := $(patsubst %.c,$(BUILD)/tsan/%.o,$(TRIAL_SRC) $(MODEL_SRC) $(ENGINE_SRC) $(OFFLOAD_SRC) \
                    $(CUDA_KERNEL_SRC) \
                    $(PATH_SRC) $(CLI_SRC) $(LIB_SRC))

$(BUILD)/tsan/cuda/trial/%.o: cuda/trial/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@
$(BUILD)/tsan/ref/engine/build_info.o: $(BUILD)/identity
$(BUILD)/tsan/ref/engine/build_info.o: CPPFLAGS += $$(cat $(BUILD)/identity)

$(TRIAL_TSAN): $(TRIAL_TSAN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(TRIAL_TSAN_OBJ)

# ---- The programs of `zeroproof --engine cuda` ---------------------------------------------------

SIMDEV_COMMAND      := $(BUILD)/zeroproof-simdev
SIMDEV_TSAN_COMMAND := $(BUILD)/zeroproof-simdev-tsan

$(SIMDEV_COMMAND): $(BUILD)/cuda/trial/main.o $(TRIAL_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

$(SIMDEV_TSAN_COMMAND): $(BUILD)/tsan/cuda/trial/main.o $(TRIAL_TSAN_LINK)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

# The sanitizer's objects without the sanitizer: what it would be told is written down instead.
SIMDEV_STREAMS_COMMAND := $(BUILD)/zeroproof-simdev-streams
SIMDEV_LOG             := $(BUILD)/tsan/cuda/simdev/streams/log.o
SIMDEV_LOG_WRAP        := -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset
$(SIMDEV_STREAMS_COMMAND): $(BUILD)/tsan/cuda/trial/streams_main.o $(SIMDEV_LOG) $(TRIAL_TSAN_LINK)
	$(say) LD $@
	$(call link,$(TSAN_CC),-pthread $(SIMDEV_LOG_WRAP) $(LIBS) $(MPI_LIBS))

.PHONY: simdev-command
simdev-command: ## build the programs of `zeroproof --engine cuda`
simdev-command: $(COMMAND) $(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) $(SIMDEV_STREAMS_COMMAND)

unit: simdev-command

# Asked for by itself, or by install, where they were built: that fetches no headers.
.PHONY: install-simdev-command uninstall-simdev-command
install-simdev-command: ## install these programs beside zeroproof, under PREFIX (and DESTDIR)
install-simdev-command: simdev-command
	install -d $(dest)/bin
	install -m 755 $(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) $(SIMDEV_STREAMS_COMMAND) $(dest)/bin
uninstall-simdev-command:
	rm -f $(patsubst $(BUILD)/%,$(dest)/bin/%,$(SIMDEV_COMMAND) $(SIMDEV_TSAN_COMMAND) $(SIMDEV_STREAMS_COMMAND))
install: $(if $(wildcard $(SIMDEV_COMMAND)),install-simdev-command)
uninstall: uninstall-simdev-command

SECONDS ?= 600
.PHONY: fuzz-cuda
fuzz-cuda: ## long differential fuzz of the CUDA twin: SECONDS=600 in each build (SEED=...)
fuzz-cuda: simdev-command
	@seed=$(or $(SEED),$$(date +%s)); \
	$(COMMAND) fuzz --engine cuda --seconds $(SECONDS) --seed $$seed && \
	$(COMMAND) fuzz --engine cuda --tsan --seconds $(SECONDS) --seed $$seed

# ---- Planted faults ------------------------------------------------------------------------------

FAULT_HUNT := $(BUILD)/tests/cuda/engine_faults $(BUILD)/tests/cuda/engine_faults_tsan
.PHONY: faults
faults: $(FAULT_HUNT) ## look again for cases in which each planted fault of the twin is found
	cuda/trial/find_faults.sh $(BUILD) >$(BUILD)/found.h
	mv $(BUILD)/found.h cuda/trial/found.h
	$(MAKE) $(FAULT_HUNT)
	sed -i '/^| N | site/,$$d' cuda/README.md
	$(BUILD)/tests/cuda/engine_faults table >>cuda/README.md

# ---- The engine, and one that waits for the current stream only ----------------------------------

ENGINE_GRAPH := $(BUILD)/tests/cuda/engine_graph
GATHER_CURRENT := $(BUILD)/tests/cuda/gather_current.o

$(ENGINE_GRAPH).o $(GATHER_CURRENT): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_GRAPH).o $(GATHER_CURRENT): | $(CUDA_HEADERS)
$(GATHER_CURRENT): cuda/engine/gather.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC "$< (current stream only)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) -DZP_CUDA_CURRENT_STREAM_ONLY -c $< -o $@
# The object stands in for the archive's.
$(ENGINE_GRAPH): $(ENGINE_GRAPH).o $(TRIAL_LINK)
$(ENGINE_GRAPH)_current: $(ENGINE_GRAPH).o $(GATHER_CURRENT) $(TRIAL_LINK)
$(ENGINE_GRAPH) $(ENGINE_GRAPH)_current:
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(ENGINE_GRAPH) $(ENGINE_GRAPH)_current

# ---- Timelines -----------------------------------------------------------------------------------

ENGINE_TIMELINE := $(BUILD)/tests/cuda/engine_timeline
$(ENGINE_TIMELINE).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_TIMELINE).o: | $(CUDA_HEADERS)
$(ENGINE_TIMELINE): $(ENGINE_TIMELINE).o $(TRIAL_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(ENGINE_TIMELINE)

# ---- How many orders an hour ---------------------------------------------------------------------

TRIAL_BENCH := $(BUILD)/tests/cuda/bench_trial

$(TRIAL_BENCH).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(TRIAL_BENCH): $(TRIAL_BENCH).o $(TRIAL_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))
$(TRIAL_BENCH)_tsan: $(BUILD)/tsan/tests/cuda/bench_trial.o $(TRIAL_TSAN_LINK)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

.PHONY: fuzz-cuda-bench
fuzz-cuda-bench: ## measure how many orders of the CUDA twin run in an hour
fuzz-cuda-bench: $(TRIAL_BENCH) $(TRIAL_BENCH)_tsan
	@$(TRIAL_BENCH) 1000 60
	@$(TRIAL_BENCH)_tsan 1000 240
