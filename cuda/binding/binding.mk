# The CUDA engine for one rank on simdev, for python/zeroproof and its tests.

ENGINE_SIMDEV     := $(BUILD)/libzeroproof_engine_simdev.so
ENGINE_SIMDEV_OBJ := $(BUILD)/cuda/binding/simulated.o $(BUILD)/cuda/binding/described.o \
  $(BUILD)/cuda/engine_cases/ranks.o
$(BUILD)/cuda/binding/simulated.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(BUILD)/cuda/binding/described.o: CPPFLAGS += -Dzp_engine_create=zp_simulated_create
$(BUILD)/cuda/binding/simulated.o: | $(firstword $(CUDA_HEADERS))
$(BUILD)/cuda/binding/described.o: ref/binding/binding.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC "$< (simdev)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) -c $< -o $@)
$(ENGINE_SIMDEV): $(ENGINE_SIMDEV_OBJ) $(ENGINE) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ $(ENGINE_SIMDEV_OBJ) -Wl,--whole-archive $(ENGINE) \
	  -Wl,--no-whole-archive $(SIMDEV) $(STATIC) $(ALL_LDFLAGS) -pthread $(OPENMP) $(LIBS)
unit: $(ENGINE_SIMDEV)

# Calls that Python made on several ranks of the reference, on as many ranks of simdev.
API_REPLAY := $(BUILD)/tests/drivers/cuda/api_replay
$(API_REPLAY).o $(API_REPLAY)_described.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(API_REPLAY).o: | $(firstword $(CUDA_HEADERS))
$(API_REPLAY)_described.o: CPPFLAGS += -Dzp_engine_create=create_on_simdev
$(API_REPLAY)_described.o: ref/binding/binding.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC "$< (ranks on simdev)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) -c $< -o $@)
$(API_REPLAY): %: %.o %_described.o $(API_RUN) $(ENGINE) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(OPENMP) $(LIBS))
unit: $(API_REPLAY)

# On devices, over NCCL (which PyTorch brings).
ENGINE_CUDA := $(BUILD)/libzeroproof_engine_cuda.so
$(ENGINE_CUDA): $(BUILD)/ref/binding/binding.o $(CUDA_LIBRARY_OBJ) $(CUDA_STUBS) $(STATIC)
	$(say) LD $@
	$(Q)$(CC) -shared -o $@ $(filter %.o,$^) $(STATIC) $(ALL_LDFLAGS) $(CUDA_STUBS) \
	  $(firstword $(wildcard $(CUDA_LIB)/libcudart.so.*)) -lstdc++ $(LIBS)
cuda-lib: $(ENGINE_CUDA)
