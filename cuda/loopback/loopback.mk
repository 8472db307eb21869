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
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS)
$(LOOPBACK_TSAN_COMMAND): $(BUILD)/tsan/$(LOOPBACK_MAIN).o $(TRIAL_TSAN) $(LOOPBACK_TSAN) \
  $(SIMDEV_RUNTIME_TSAN)
	$(say) LD $@
	$(Q)$(TSAN_CC) -o $@ $^ -fsanitize=thread -pthread $(LIBS) $(MPI_LIBS)

.PHONY: loopback-command
loopback-command: $(LOOPBACK_COMMAND) $(LOOPBACK_TSAN_COMMAND) ## build the twin's trials with all ranks on one device

unit: loopback-command

-include $(LOOPBACK_OBJ:%.o=%.d) $(LOOPBACK_TSAN_OBJ:%.o=%.d) $(BUILD)/$(LOOPBACK_MAIN).d \
         $(BUILD)/tsan/$(LOOPBACK_MAIN).d
