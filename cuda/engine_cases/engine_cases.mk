# zeroproof-api-cuda: fuzz through the public functions of the CUDA engine (fuzz --engine api-cuda).
# Included by the Makefile after cli.mk and ref/engine_cases/engine_cases.mk.
API_CUDA_COMMAND      := $(BUILD)/zeroproof-api-cuda
API_CUDA_TSAN_COMMAND := $(BUILD)/zeroproof-api-cuda-tsan
API_CUDA_SRC := cuda/cli/api_cuda_main.c $(sort $(wildcard cuda/engine_cases/*.c))
API_RANK_SRC := ref/engine_cases/cases.c $(sort $(wildcard ref/engine_cases/rank_*.c))
API_CUDA_OBJ := $(API_CUDA_SRC:%.c=$(BUILD)/%.o)
$(API_CUDA_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(API_CUDA_OBJ): | $(CUDA_HEADERS)

$(API_CUDA_COMMAND): $(API_CUDA_OBJ) $(API_RANK_SRC:%.c=$(BUILD)/%.o) $(ENGINE) $(SIMDEV) \
  $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

$(API_CUDA_TSAN_COMMAND): $(patsubst %.c,$(BUILD)/tsan/%.o,$(API_CUDA_SRC) $(API_RANK_SRC)) \
  $(CUDA_VERIFY_TSAN_LINK)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

simdev-command: $(API_CUDA_COMMAND) $(API_CUDA_TSAN_COMMAND)

# Ranks whose engine ended with an error leave their memory to the end of the process.
.PHONY: fuzz-api-cuda
fuzz-api-cuda: ## long random calls of the CUDA engine: SECONDS=600 in each build (SEED=...)
fuzz-api-cuda: simdev-command
	@$(MAKE) --no-print-directory SAN=1 BUILD=build-san build-san/zeroproof-api-cuda
	@seed=$(or $(SEED),$$(date +%s)); export ASAN_OPTIONS=detect_leaks=0; \
	for program in $(API_CUDA_COMMAND) $(API_CUDA_TSAN_COMMAND) build-san/zeroproof-api-cuda; do \
	  $$program fuzz --seconds $(SECONDS) --seed $$seed || exit; done
