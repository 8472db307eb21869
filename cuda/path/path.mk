# The critical path and the timelines of the CUDA twin. Included by the Makefile.

PATH_SRC := $(sort $(wildcard cuda/path/*.c))
PATH_OBJ := $(PATH_SRC:%.c=$(BUILD)/%.o)
ZP_PATH  := $(BUILD)/libzppath.a

$(PATH_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(PATH_OBJ): | $(CUDA_HEADERS)

$(ZP_PATH): $(PATH_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^
