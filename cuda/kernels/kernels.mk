# The device kernels, compiled by the C compiler for simdev and the tests; by nvcc on request, and
# in tests/cuda/kernels/test_nvcc.sh. Included by the Makefile before TESTS is computed.

CUDA_KERNEL_SRC := cuda/kernels/kernels.c cuda/kernels/launch.c
CUDA_KERNEL_OBJ := $(CUDA_KERNEL_SRC:%.c=$(BUILD)/%.o)
CUDA_KERNEL_TESTS := $(wildcard tests/cuda/kernels/test_kernels_*.c)
TEST_SRC += $(CUDA_KERNEL_TESTS)
# nvcc calls g++ for host code; if it is missing, pip downloads it.
PACKAGES_TEST += g++ $(shell sh cuda/kernels/nvcc.sh --packages)

$(CUDA_KERNEL_TESTS:tests/%.c=$(BUILD)/tests/%): $(CUDA_KERNEL_OBJ)

# The kernels for devices, linked with launch.o instead of CUDA_KERNEL_OBJ. ARCHS: compute
# capabilities. $(call nvcc,SOURCE,OBJECT): compiles for all of them.
ARCHS ?= 80 90
nvcc = $(Q)$$(sh cuda/kernels/nvcc.sh) \
  $$(ZP_WERROR=$(WERROR) sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $(1) -o $(2)
$(BUILD)/cuda/kernels/device.o: cuda/kernels/kernels.cu $(wildcard cuda/kernels/*.h ref/num/*.[ch])
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(call nvcc,$<,$@)

.PHONY: cuda-kernels
cuda-kernels: $(BUILD)/cuda/kernels/device.o ## compile the device kernels with nvcc
