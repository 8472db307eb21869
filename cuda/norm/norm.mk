# libzeroproof_norm.so, the exact norm's kernels for zeroproof.torch (python/), and the same library
# on simdev. Included by the Makefile after gpu.mk.

NORM_OBJ := $(patsubst %,$(BUILD)/cuda/norm/%.o,norm simulated)
$(NORM_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(NORM_OBJ): | $(firstword $(CUDA_HEADERS))

NORM_SIMDEV := $(BUILD)/libzeroproof_norm_simdev.so
$(NORM_SIMDEV): $(patsubst %,$(BUILD)/cuda/norm/%.o,simulated kernels) $(CUDA_KERNEL_OBJ) \
  $(SIMDEV) $(STATIC) cuda/norm/exports.map
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,--version-script=cuda/norm/exports.map -o $@ $(filter %.o %.a,$^) \
	  $(ALL_LDFLAGS) -pthread -lm

# The runtime is linked statically: PyTorch brings one of its own, which shares the context.
$(BUILD)/cuda/norm/device.o: cuda/norm/kernels.cu $(wildcard cuda/norm/*.h cuda/kernels/*.h) \
  $(wildcard ref/num/*.[ch])
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(call nvcc,$<,$@)
NORM_CUDA := $(BUILD)/libzeroproof_norm.so
$(NORM_CUDA): $(patsubst %,$(BUILD)/cuda/norm/%.o,norm device) $(BUILD)/cuda/kernels/launch.o \
  $(BUILD)/cuda/kernels/device.o cuda/norm/exports.map
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,--version-script=cuda/norm/exports.map -o $@ $(filter %.o,$^) \
	  $(ALL_LDFLAGS) -L$(CUDA_LIB) -lcudart_static -lstdc++ -ldl -lrt -pthread

.PHONY: cuda-norm
cuda-norm: $(NORM_CUDA) ## build libzeroproof_norm.so: exact norms of gradients on a GPU (nvcc)
# norm.o needs only the runtime's headers: it is compiled and linted on any machine.
unit: $(NORM_SIMDEV) $(BUILD)/cuda/norm/norm.o
