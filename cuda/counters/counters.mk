# The counts of `zeroproof counters`, and their tests. Included by cuda/cli/cli.mk, which has the
# program.

# Linked in place of the sanitizer's runtime: cuda/simdev/sanitizer/watch.h.
SIMDEV_WATCH    := -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset
SIMDEV_ACCESSES := $(addprefix $(BUILD)/tsan/cuda/simdev/,accesses/accesses.o sanitizer/names.o)
COUNTERS_OBJ    := $(patsubst %.c,$(BUILD)/tsan/%.o,$(sort $(wildcard cuda/counters/*.c)))

COUNTERS_TESTS := $(addprefix $(BUILD)/tests/cuda/counters/test_,accesses ideal)
$(BUILD)/tests/cuda/counters/test_accesses: \
  $(BUILD)/tsan/tests/cuda/counters/test_accesses.o $(SIMDEV_ACCESSES) $(SIMDEV_TSAN)
	$(say) LD $@
	$(call link,$(TSAN_CC),-pthread $(SIMDEV_WATCH) -lcriterion -lm)
$(BUILD)/tests/cuda/counters/test_ideal: $(BUILD)/tests/cuda/counters/test_ideal.o \
  $(BUILD)/cuda/counters/ideal.o $(BUILD)/ref/plan/config.o
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion)

unit: $(COUNTERS_TESTS)
