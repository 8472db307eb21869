# The critical path and the timelines of the CUDA twin. Included by the Makefile.

PATH_SRC := $(sort $(wildcard cuda/path/*.c))
PATH_OBJ := $(PATH_SRC:%.c=$(BUILD)/%.o)
ZP_PATH  := $(BUILD)/libzppath.a

$(PATH_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(PATH_OBJ): | $(CUDA_HEADERS)

$(ZP_PATH): $(PATH_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

ENGINE_TIMELINE := $(BUILD)/tests/cuda/engine_timeline
$(ENGINE_TIMELINE).o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_TIMELINE).o: | $(CUDA_HEADERS)
$(ENGINE_TIMELINE): $(ENGINE_TIMELINE).o $(BUILD)/libzpcuda.a $(ZP_PATH) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(Q)$(CC) -o $@ $^ $(ALL_LDFLAGS) $(LIBS)

unit: $(ENGINE_TIMELINE)

-include $(ENGINE_TIMELINE).d $(PATH_OBJ:%.o=%.d)
