# zeroproof-api: fuzz through the public functions of the engine (fuzz --engine api, --comm mpi).
API_COMMAND := $(BUILD)/zeroproof-api
API_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard ref/engine_cases/*.c)))
$(API_COMMAND): $(API_OBJ) $(MPI_STATIC) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

.PHONY: api-command
api-command: $(API_COMMAND) ## build build/zeroproof-api, for `fuzz --engine api` and `--comm mpi`
ifeq ($(COMM_MPI),mpi)
all: $(API_COMMAND)
endif

# A test has its ranks as threads, too.
$(BUILD)/tests/ref/engine_mpi/test_transport: $(BUILD)/ref/engine_cases/thread_transport.o
$(BUILD)/tests/ref/engine_cases/test_rank_words: $(BUILD)/ref/engine_cases/rank_words.o
