# gpt on the device: its kernels, its host part, its GEMM backends. Included by the Makefile after
# engine.mk, before verify.mk.

# On simdev only ref's product is available.
GPT_SRC := $(sort $(filter-out cuda/gpt/product_cublaslt.c,$(wildcard cuda/gpt/*.c)))
GPT_OBJ := $(GPT_SRC:%.c=$(BUILD)/%.o)

$(GPT_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPT_OBJ): | $(CUDA_HEADERS)

$(BUILD)/tsan/cuda/gpt/%.o: cuda/gpt/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@)

# For devices: kernels compiled by nvcc, and products by cuBLASLt if CUBLAS_INC has its header and
# CUBLAS_LIB its library (default: the toolkit's folders; in PyPI's wheels, libcublasLt.so has a
# version in its name). CUDA_LIB: the folder of the runtime, of the toolkit or of the wheels with
# nvcc.
CUDA_LIB   ?= $(patsubst %/,%,$(firstword $(dir $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a \
                $(CUDA_CACHE)/nvcc-*/nvidia/cu13/lib/libcudart_static.a)) $(CUDA_HOME)/lib64/))
CUBLAS_INC ?= $(CUDA_INC)
CUBLAS_LIB ?= $(CUDA_LIB)
library     = $(notdir $(firstword $(wildcard $(1)/lib$(2).so $(1)/lib$(2).so.*)))
GPT_LT   := $(and $(wildcard $(CUBLAS_INC)/cublasLt.h),$(call library,$(CUBLAS_LIB),cublasLt))
GPT_DEVICE := $(BUILD)/libzeroproof_gpt_$(if $(GPT_LT),cublaslt,cuda).a
GPT_DEVICE_LIBS := $(if $(GPT_LT),-L$(CUBLAS_LIB) -Wl$(comma)-rpath$(comma)$(CUBLAS_LIB) \
                     -l:$(GPT_LT))
GPT_DEVICE_OBJ := $(BUILD)/cuda/gpt/device.o \
  $(filter-out %/layers.o $(if $(GPT_LT),%/product_ref.o),$(GPT_OBJ)) \
  $(if $(GPT_LT),$(BUILD)/cuda/gpt/product_cublaslt.o)

# Rebuilt if another library is found.
$(BUILD)/gpu/library: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CUBLAS_INC) $(GPT_DEVICE_LIBS)' | cmp -s - $@ || \
	  printf '%s\n' '$(CUBLAS_INC) $(GPT_DEVICE_LIBS)' > $@
$(BUILD)/cuda/gpt/product_cublaslt.o: $(BUILD)/gpu/library
$(BUILD)/cuda/gpt/product_cublaslt.o: CPPFLAGS += -isystem $(CUBLAS_INC) $(CUDA_CPPFLAGS)
$(BUILD)/cuda/gpt/device.o: cuda/gpt/layers.cu \
  $(wildcard cuda/gpt/*.h cuda/kernels/*.h ref/num/*.[ch] ref/model/zmath.[ch])
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(call nvcc,$<,$@)
$(GPT_DEVICE): $(GPT_DEVICE_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

.PHONY: cuda-gpt
cuda-gpt: $(GPT_DEVICE) ## build gpt for CUDA devices (nvcc; cuBLASLt from CUBLAS_INC, CUBLAS_LIB)

# ---- Bounds --------------------------------------------------------------------------------------

# Compares gpt with ref for all kinds of products: on simdev; with gpt-bounds-device on a device.
GPT_BOUNDS := $(BUILD)/tests/drivers/cuda/gpt_bounds
GPT_BOUNDS_OBJ := $(addprefix $(BUILD)/tests/drivers/cuda/,gpt_bounds.o product_cases.o \
                    product_orders.o)
$(GPT_BOUNDS_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPT_BOUNDS_OBJ): | $(CUDA_HEADERS)
$(GPT_BOUNDS): $(GPT_BOUNDS_OBJ) $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

# The same with cuBLASLt's calls, which a stand-in executes: it checks shapes, transposes and
# alignments.
GPT_BOUNDS_LT := $(BUILD)/tests/drivers/cuda/gpt_bounds_lt
FAKE_CUBLAS := -Itests/fixtures/fake_cublas $(CUDA_CPPFLAGS) -DZP_FAKE_CUBLAS
GPT_BOUNDS_LT_OBJ := $(addprefix $(BUILD)/fake_cublas/,tests/drivers/cuda/gpt_bounds.o \
  tests/drivers/cuda/cublaslt_cases.o cuda/gpt/product_cublaslt.o \
  tests/fixtures/fake_cublas/cublaslt.o)
$(BUILD)/fake_cublas/%.o: %.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (stand-in of cuBLASLt)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(FAKE_CUBLAS) -c $< -o $@)
$(GPT_BOUNDS_LT): $(GPT_BOUNDS_LT_OBJ) $(filter-out $(GPT_BOUNDS).o,$(GPT_BOUNDS_OBJ)) \
  $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(GPT_BOUNDS) $(GPT_BOUNDS_LT)

# The same program for a device, with its GEMM backend.
GPT_BOUNDS_DEVICE := $(BUILD)/tests/drivers/cuda/gpt_bounds_device$(if $(GPT_LT),_lt)
$(BUILD)/device/tests/drivers/cuda/%.o: tests/drivers/cuda/%.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (device)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DZP_ON_A_DEVICE -c $< -o $@)
$(BUILD)/device/tests/drivers/cuda/product_orders.o: tests/drivers/cuda/product_orders.cu \
  $(wildcard tests/drivers/cuda/product_orders*.h) $(BUILD)/cuda/gpt/device.o
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(call nvcc,$<,$@)
$(GPT_BOUNDS_DEVICE): $(GPT_BOUNDS_OBJ:$(BUILD)/%=$(BUILD)/device/%) $(GPT_DEVICE) \
  $(BUILD)/cuda/kernels/launch.o $(STATIC) | $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(GPT_DEVICE_LIBS) $(GPU_LINK))
.PHONY: gpt-bounds-device
gpt-bounds-device: $(GPT_BOUNDS_DEVICE) ## build the check of gpt's bounds for a CUDA device
