# The optimizer's step on the host, of the CUDA engine with offload. Included from the Makefile
# before TESTS is made from TEST_SRC.

OFFLOAD_SRC   := $(sort $(wildcard cuda/offload/*.c))
OFFLOAD_OBJ   := $(OFFLOAD_SRC:%.c=$(BUILD)/%.o)
OFFLOAD_TESTS := $(wildcard tests/cuda/test_offload_*.c)
TEST_SRC += $(OFFLOAD_TESTS)
# clang brings no OpenMP of its own.
PACKAGES_TEST += $(if $(findstring clang,$(CC)),libomp-dev)

# Asked when something is compiled or linked: a compiler without OpenMP makes code for one thread.
# Not under sanitizers, which do not know OpenMP's barriers. Private: $(BUILD)/flags, of which these
# objects are made, too, are everybody's.
OPENMP = $(eval OPENMP := $$(if $$(SANITIZE),,$$(shell printf \
  '\043include <omp.h>\nint main(void){return omp_get_max_threads()==0;}' | \
  $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)))$(OPENMP)

$(OFFLOAD_OBJ): private ALL_CFLAGS += $(OPENMP)
$(OFFLOAD_TESTS:tests/%.c=$(BUILD)/tests/%): $(OFFLOAD_OBJ)

# ---- Beside others -------------------------------------------------------------------------------

ADAMW_BENCH := $(BUILD)/tests/cuda/bench_adamw
$(ADAMW_BENCH).o: private ALL_CFLAGS += $(OPENMP)
$(ADAMW_BENCH): $(ADAMW_BENCH).o $(OFFLOAD_OBJ) $(BUILD)/libzeroproof.a
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))

.PHONY: bench-adamw
bench-adamw: ## measure the AdamW step on the host beside PyTorch's and DeepSpeed's
	@$(call need,$(PACKAGES_RUN) g++ python3-venv python3-dev)
	@$(MAKE) --no-print-directory -j$(JOBS) $(ADAMW_BENCH)
	@python3 -B tests/cuda/bench_adamw.py $(ADAMW_BENCH) $(BENCH_ARGS)
