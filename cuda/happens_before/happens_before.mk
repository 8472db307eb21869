# The happens-before check, the timelines and the cost model. Included by the Makefile.

HAPPENS_BEFORE_SRC := $(sort $(wildcard cuda/happens_before/*.c cuda/cost/*.c))
HAPPENS_BEFORE_OBJ := $(HAPPENS_BEFORE_SRC:%.c=$(BUILD)/%.o)
HAPPENS_BEFORE  := $(BUILD)/libzphappens_before.a

$(HAPPENS_BEFORE_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(HAPPENS_BEFORE_OBJ): | $(CUDA_HEADERS)

$(HAPPENS_BEFORE): $(HAPPENS_BEFORE_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^
$(BUILD)/cuda/cost/machine.o: cuda/cost/machines/h200-cluster.json
