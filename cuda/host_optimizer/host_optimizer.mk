# The optimizer's step on the host, of the CUDA engine with offload. Included from the Makefile
# before TESTS is made from TEST_SRC.

HOST_OPTIMIZER_SRC   := $(sort $(wildcard cuda/host_optimizer/*.c))
HOST_OPTIMIZER_OBJ   := $(HOST_OPTIMIZER_SRC:%.c=$(BUILD)/%.o)
HOST_OPTIMIZER_TESTS := $(wildcard tests/cuda/host_optimizer/test_offload_*.c)
TEST_SRC += $(HOST_OPTIMIZER_TESTS)
# clang brings no OpenMP of its own.
PACKAGES_TEST += $(if $(findstring clang,$(CC)),libomp-dev)

# Asked when something is compiled or linked: a compiler without OpenMP makes code for one thread.
# Not under sanitizers, which do not know OpenMP's barriers. Private: $(BUILD)/flags, of which these
# objects are made, too, are everybody's.
OPENMP = $(eval OPENMP := $$(if $$(SANITIZE),,$$(shell printf \
  '\043include <omp.h>\nint main(void){return omp_get_max_threads()==0;}' | \
  $(CC) -fopenmp -x c - -o /dev/null 2>/dev/null && echo -fopenmp)))$(OPENMP)

$(HOST_OPTIMIZER_OBJ): private ALL_CFLAGS += $(OPENMP)
$(HOST_OPTIMIZER_TESTS:tests/%.c=$(BUILD)/tests/%): $(HOST_OPTIMIZER_OBJ)

# ---- Beside others -------------------------------------------------------------------------------

ADAMW_BENCH := $(BUILD)/tests/bench/bench_adamw
$(ADAMW_BENCH).o: private ALL_CFLAGS += $(OPENMP)
$(ADAMW_BENCH): $(ADAMW_BENCH).o $(HOST_OPTIMIZER_OBJ) $(BUILD)/libzeroproof.a
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))

.PHONY: bench-adamw
bench-adamw: ## measure the AdamW step on the host beside PyTorch's and DeepSpeed's
	@$(call need,$(PACKAGES_RUN) g++ python3-venv python3-dev)
	@$(MAKE) --no-print-directory -j$(JOBS) $(ADAMW_BENCH)
	@python3 -B tests/bench/bench_adamw.py $(ADAMW_BENCH) $(BENCH_ARGS)
