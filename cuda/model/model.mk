# gpt on the device: its kernels, its host part, who multiplies. Included by the Makefile after
# engine.mk, before trial.mk.

# On simdev nobody but ref's own product can multiply.
MODEL_SRC := $(sort $(filter-out cuda/model/product_cublaslt.c,$(wildcard cuda/model/*.c)))
MODEL_OBJ := $(MODEL_SRC:%.c=$(BUILD)/%.o)

$(MODEL_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(MODEL_OBJ): | $(CUDA_HEADERS)

$(BUILD)/tsan/cuda/model/%.o: cuda/model/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(Q)$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@

# For devices: kernels as nvcc compiles them, products by cuBLASLt where its header and its library
# are: in CUBLAS_INC and CUBLAS_LIB, the toolkit's folders unless named; those of PyPI's wheels have
# no libcublasLt.so but one with its version behind. CUDA_LIB: where the runtime is, the toolkit's or
# that of the wheels that nvcc is taken from.
CUDA_LIB   ?= $(patsubst %/,%,$(firstword $(dir $(wildcard $(CUDA_HOME)/lib64/libcudart_static.a \
                $(CUDA_CACHE)/nvcc-*/nvidia/cu13/lib/libcudart_static.a)) $(CUDA_HOME)/lib64/))
CUBLAS_INC ?= $(CUDA_INC)
CUBLAS_LIB ?= $(CUDA_LIB)
library     = $(notdir $(firstword $(wildcard $(1)/lib$(2).so $(1)/lib$(2).so.*)))
MODEL_LT   := $(and $(wildcard $(CUBLAS_INC)/cublasLt.h),$(call library,$(CUBLAS_LIB),cublasLt))
MODEL_DEVICE := $(BUILD)/libzeroproof_gpt_$(if $(MODEL_LT),cublaslt,cuda).a
MODEL_DEVICE_LIBS := $(if $(MODEL_LT),-L$(CUBLAS_LIB) -Wl$(comma)-rpath$(comma)$(CUBLAS_LIB) -l:$(MODEL_LT))
MODEL_DEVICE_OBJ := $(BUILD)/cuda/model/device.o \
  $(filter-out %/layers.o $(if $(MODEL_LT),%/product_ref.o),$(MODEL_OBJ)) \
  $(if $(MODEL_LT),$(BUILD)/cuda/model/product_cublaslt.o)

# Made again where another library is found.
$(BUILD)/gpu/library: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CUBLAS_INC) $(MODEL_DEVICE_LIBS)' | cmp -s - $@ || \
	  printf '%s\n' '$(CUBLAS_INC) $(MODEL_DEVICE_LIBS)' > $@
$(BUILD)/cuda/model/product_cublaslt.o: $(BUILD)/gpu/library
$(BUILD)/cuda/model/product_cublaslt.o: CPPFLAGS += -isystem $(CUBLAS_INC) $(CUDA_CPPFLAGS)
$(BUILD)/cuda/model/device.o: cuda/model/layers.cu \
  $(wildcard cuda/model/*.h cuda/kernels/*.h ref/num/*.[ch] ref/model/zmath.[ch])
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
	  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@
$(MODEL_DEVICE): $(MODEL_DEVICE_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

.PHONY: cuda-gpt
cuda-gpt: $(MODEL_DEVICE) ## build gpt for CUDA devices (nvcc; cuBLASLt from CUBLAS_INC, CUBLAS_LIB)

# ---- Bounds --------------------------------------------------------------------------------------

# gpt beside ref, with products of all kinds: on simdev, and with cuda-gpt-bounds on a device.
GPT_BOUNDS := $(BUILD)/tests/cuda/gpt_bounds
GPT_BOUNDS_OBJ := $(addprefix $(BUILD)/tests/cuda/,gpt_bounds.o product_cases.o product_orders.o)
$(GPT_BOUNDS_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(GPT_BOUNDS_OBJ): | $(CUDA_HEADERS)
$(GPT_BOUNDS): $(GPT_BOUNDS_OBJ) $(TRIAL_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

# The same with the products of cuBLASLt, which a stand-in carries out: what it is told of shapes,
# transposes and alignments is what it has to be told.
GPT_BOUNDS_LT := $(BUILD)/tests/cuda/gpt_bounds_lt
FAKE_CUBLAS := -Itests/cuda/fake_cublas $(CUDA_CPPFLAGS) -DZP_FAKE_CUBLAS
GPT_BOUNDS_LT_OBJ := $(addprefix $(BUILD)/fake_cublas/,tests/cuda/gpt_bounds.o \
  tests/cuda/cublaslt_cases.o cuda/model/product_cublaslt.o tests/cuda/fake_cublas/cublaslt.o)
$(BUILD)/fake_cublas/%.o: %.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (stand-in of cuBLASLt)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(FAKE_CUBLAS) -c $< -o $@
$(GPT_BOUNDS_LT): $(GPT_BOUNDS_LT_OBJ) $(filter-out $(GPT_BOUNDS).o,$(GPT_BOUNDS_OBJ)) $(TRIAL_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

unit: $(GPT_BOUNDS) $(GPT_BOUNDS_LT)

# The same program for a device, with the products that it has.
GPT_BOUNDS_DEVICE := $(BUILD)/tests/cuda/gpt_bounds_device$(if $(MODEL_LT),_lt)
$(BUILD)/device/tests/cuda/%.o: tests/cuda/%.c $(BUILD)/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (device)"
	$(Q)$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DZP_ON_A_DEVICE -c $< -o $@
$(BUILD)/device/tests/cuda/product_orders.o: tests/cuda/product_orders.cu \
  $(wildcard tests/cuda/product_orders*.h) $(BUILD)/cuda/model/device.o
	@mkdir -p $(@D)
	$(say) NVCC $<
	$(Q)$$(sh cuda/kernels/nvcc.sh) $$(sh cuda/kernels/nvcc.sh --flags) -Xcompiler -fPIC \
	  $(foreach a,$(ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) -c $< -o $@
$(GPT_BOUNDS_DEVICE): $(GPT_BOUNDS_OBJ:$(BUILD)/%=$(BUILD)/device/%) $(MODEL_DEVICE) $(BUILD)/cuda/kernels/launch.o $(STATIC) | \
  $(BUILD)/gpu/libcuda.so.1
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(MODEL_DEVICE_LIBS) $(GPU_LINK))
.PHONY: gpt-bounds-device
gpt-bounds-device: $(GPT_BOUNDS_DEVICE) ## build the check of gpt's bounds for a CUDA device
