# The device kernels. Compiled here by the C compiler, for simdev and the tests; by nvcc on request,
# and in tests/cuda/test_nvcc.sh. Included from the Makefile before TESTS is made from TEST_SRC.

CUDA_KERNEL_SRC := cuda/kernels/kernels.c cuda/kernels/launch.c
CUDA_KERNEL_OBJ := $(CUDA_KERNEL_SRC:%.c=$(BUILD)/%.o)
CUDA_KERNEL_TESTS := $(wildcard tests/cuda/test_kernels_*.c)
TEST_SRC += $(CUDA_KERNEL_TESTS)
# nvcc compiles its host part with g++, and is fetched with pip where it is missing.
PACKAGES_TEST += g++ $(shell sh cuda/kernels/nvcc.sh --packages)

$(CUDA_KERNEL_TESTS:tests/%.c=$(BUILD)/tests/%): $(CUDA_KERNEL_OBJ)

# The kernels for devices, with launch.o instead of CUDA_KERNEL_OBJ: ARCHS are what is compiled for.
ARCHS ?= 80 90
$(BUILD)/cuda/kernels/device.o: cuda/kernels/kernels.cu $(wildcard cuda/kernels/*.h ref/num/*.[ch])
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
	  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@

.PHONY: cuda-kernels
cuda-kernels: $(BUILD)/cuda/kernels/device.o ## compile the device kernels with nvcc
