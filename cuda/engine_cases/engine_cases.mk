# zeroproof-api-cuda: fuzz through the public functions of the CUDA engine (fuzz --engine api-cuda).
# Included by the Makefile after cli.mk and ref/engine_cases/engine_cases.mk.
API_CUDA_COMMAND := $(BUILD)/zeroproof-api-cuda
API_CUDA_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cuda/engine_cases/*.c)))
$(API_CUDA_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(API_CUDA_OBJ): | $(CUDA_HEADERS)
API_RANK_OBJ := $(filter-out $(patsubst %,$(BUILD)/ref/engine_cases/%.o,backend main threads \
  processes host_device thread_transport),$(API_OBJ))
$(API_CUDA_COMMAND): $(API_CUDA_OBJ) $(API_RANK_OBJ) $(ENGINE) $(SIMDEV) $(BUILD)/libzpcli.a \
  $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

simdev-command: $(API_CUDA_COMMAND)
