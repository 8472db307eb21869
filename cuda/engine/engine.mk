# The CUDA engine: plain C that is compiled with CUDA's and NCCL's headers; its tests link simdev.
# Included by the Makefile.

ENGINE_SRC := $(sort $(wildcard cuda/engine/*.c cuda/engine/*/*.c))
ENGINE_OBJ := $(ENGINE_SRC:%.c=$(BUILD)/%.o)
ENGINE     := $(BUILD)/libzpcuda.a
ENGINE_TEST_SRC := $(sort $(wildcard tests/cuda/engine/test_engine*.c))
ENGINE_TESTS    := $(ENGINE_TEST_SRC:tests/%.c=$(BUILD)/tests/%)

$(ENGINE_OBJ) $(ENGINE_TESTS:%=%.o): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_OBJ) $(ENGINE_TESTS:%=%.o): | $(CUDA_HEADERS)

$(ENGINE): $(ENGINE_OBJ) $(CUDA_KERNEL_OBJ) $(HOST_OPTIMIZER_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# What a program that runs the engine on simdev links, in this order; made in cuda/verify/verify.mk.
CUDA_VERIFY           := $(BUILD)/libzpcuda_verify.a
CUDA_VERIFY_LINK      := $(CUDA_VERIFY) $(ENGINE) $(HAPPENS_BEFORE) $(SIMDEV) \
                         $(BUILD)/libzpcli.a $(STATIC)
CUDA_VERIFY_TSAN      := $(BUILD)/tsan/libzpcuda_verify.a
CUDA_VERIFY_TSAN_LINK := $(CUDA_VERIFY_TSAN) $(SIMDEV_TSAN)

$(ENGINE_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion $(LIBS) $(MPI_LIBS))

# Programs for scripts, plain and under ThreadSanitizer.
ENGINE_RUNS := $(patsubst %,$(BUILD)/tests/drivers/cuda/engine_%,syncs faults)

$(ENGINE_RUNS:%=%.o): CPPFLAGS += $(CUDA_CPPFLAGS)
$(ENGINE_RUNS): %: %.o $(CUDA_VERIFY_LINK)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

$(BUILD)/tsan/ref/%.o: ref/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CPPFLAGS) $(MPI_CFLAGS) -c $< -o $@)
$(BUILD)/tsan/conformance/%.o: conformance/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CPPFLAGS) $(MPI_CFLAGS) -c $< -o $@)
$(BUILD)/tsan/cuda/engine/%.o: cuda/engine/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@)
$(BUILD)/tsan/cuda/kernels/%.o: cuda/kernels/%.c $(BUILD)/tsan/flags
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread -MMD -MP -c $< -o $@)

ENGINE_THREADS := $(BUILD)/tests/drivers/cuda/engine_threads

$(BUILD)/tsan/cuda/happens_before/%.o: cuda/happens_before/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@)

$(ENGINE_RUNS:%=%_tsan) $(ENGINE_THREADS)_tsan: $(BUILD)/%_tsan: $(BUILD)/tsan/%.o \
  $(CUDA_VERIFY_TSAN_LINK)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

unit: $(ENGINE_TESTS) $(ENGINE_RUNS) $(ENGINE_RUNS:%=%_tsan) $(ENGINE_THREADS)_tsan

# ---- The public functions ------------------------------------------------------------------------

# Programs for the CUDA engine, unchanged, as all ranks of one simulation:
# tests/drivers/cuda/on_simdev.h.
API_HEADER   := $(BUILD)/include/zeroproof.h
$(API_HEADER):
	@mkdir -p $(@D)
	$(Q)printf '#include "ref/zeroproof.h"\n' > $@
API_PROGRAMS := $(BUILD)/tests/drivers/cuda/api_example $(BUILD)/tests/drivers/cuda/api_driver \
                $(BUILD)/tests/drivers/cuda/api_line $(BUILD)/tests/drivers/cuda/api_streams \
                $(BUILD)/tests/drivers/cuda/api_in_place
API_TSAN     := $(BUILD)/tests/drivers/cuda/api_driver_tsan \
                $(BUILD)/tests/drivers/cuda/api_streams_tsan \
                $(BUILD)/tests/drivers/cuda/api_in_place_tsan
$(BUILD)/tests/drivers/cuda/api_example.o: ref/example/train.c
$(BUILD)/tests/drivers/cuda/api_driver.o: tests/drivers/mpi/engine_driver.c
$(BUILD)/tests/drivers/cuda/api_line.o: tests/drivers/cuda/api_line.c
$(BUILD)/tests/drivers/cuda/api_streams.o: tests/drivers/cuda/api_streams.c
$(BUILD)/tests/drivers/cuda/api_in_place.o: tests/drivers/cuda/api_in_place.c
$(API_PROGRAMS:%=%.o): $(BUILD)/flags | $(CUDA_HEADERS) $(API_HEADER)
	@mkdir -p $(@D)
	$(say) CC "$(filter %.c,$^) (simdev)"
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(CUDA_CPPFLAGS) -DCUDA -I$(BUILD)/include -I. \
	  -include tests/drivers/cuda/on_simdev.h -c $(filter %.c,$^) -o $@)
$(BUILD)/tests/drivers/cuda/api_run.o: CPPFLAGS += $(CUDA_CPPFLAGS)
$(BUILD)/tests/drivers/cuda/api_run.o: | $(CUDA_HEADERS)
API_RUN      := $(BUILD)/tests/drivers/cuda/api_run.o $(BUILD)/cuda/engine_cases/ranks.o
$(API_PROGRAMS): %: %.o $(API_RUN) $(ENGINE) $(SIMDEV) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS))

$(BUILD)/tsan/tests/drivers/cuda/api_driver.o: tests/drivers/mpi/engine_driver.c
$(BUILD)/tsan/tests/drivers/cuda/api_streams.o: tests/drivers/cuda/api_streams.c
$(BUILD)/tsan/tests/drivers/cuda/api_in_place.o: tests/drivers/cuda/api_in_place.c
$(API_TSAN:$(BUILD)/%_tsan=$(BUILD)/tsan/%.o): $(BUILD)/tsan/flags | $(CUDA_HEADERS) $(API_HEADER)
	@mkdir -p $(@D)
	$(say) CC "$(filter %.c,$^) (simdev, tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -DCUDA \
	  -I$(BUILD)/include -I. \
	  -include tests/drivers/cuda/on_simdev.h -MMD -MP -c $(filter %.c,$^) -o $@)
$(API_TSAN): $(BUILD)/tests/drivers/cuda/%_tsan: $(BUILD)/tsan/tests/drivers/cuda/%.o \
  $(API_RUN:$(BUILD)/%=$(BUILD)/tsan/%) $(CUDA_VERIFY_TSAN_LINK)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

unit: $(API_PROGRAMS) $(API_TSAN)

# The public functions as they are, with POSIX threads and sockets, on a device of the tests' own.
API_THREADS := $(BUILD)/tests/drivers/cuda/api_threads
HOST_OPTIMIZER_PAGES := $(BUILD)/tests/drivers/cuda/offload_pages
AT_ONCE := $(BUILD)/tests/drivers/cuda/at_once.o
$(API_THREADS).o $(HOST_OPTIMIZER_PAGES).o $(AT_ONCE): CPPFLAGS += $(CUDA_CPPFLAGS)
$(API_THREADS).o $(HOST_OPTIMIZER_PAGES).o $(AT_ONCE): | $(CUDA_HEADERS)
$(API_THREADS) $(HOST_OPTIMIZER_PAGES): %: %.o $(AT_ONCE) $(ENGINE) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -pthread $(LIBS))
$(API_THREADS)_tsan: $(BUILD)/tsan/tests/drivers/cuda/api_threads.o \
  $(BUILD)/tsan/tests/drivers/cuda/at_once.o \
  $(CUDA_VERIFY_TSAN)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread $(LIBS) $(MPI_LIBS))

unit: $(API_THREADS) $(API_THREADS)_tsan $(HOST_OPTIMIZER_PAGES)

# For devices: the engine and its kernels as nvcc compiles them. Programs link CUDA's runtime and
# NCCL.
CUDA_LIBRARY_OBJ := $(ENGINE_OBJ) $(HOST_OPTIMIZER_OBJ) $(BUILD)/cuda/kernels/launch.o \
                    $(BUILD)/cuda/kernels/device.o
CUDA_LIBRARY := $(BUILD)/libzeroproof_cuda.a
CUDA_SHARED  := $(BUILD)/libzeroproof_cuda.so.$(VERSION)
$(CUDA_LIBRARY): $(CUDA_LIBRARY_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $^

# The shared library is linked with stubs of the driver and of NCCL, so that a machine that has
# neither can build it. Of CUDA's runtime it has the program's own copy.
# $(call stub,LIBRARY,PREFIX): a library with the functions of that prefix that the engine calls.
CUDA_STUBS := $(BUILD)/cuda/stubs/libcuda.so.1 $(BUILD)/cuda/stubs/libnccl.so.2
stub = $(Q)mkdir -p $(@D) && nm -u $(ENGINE_OBJ) | \
  sed -n 's/^ *U \($(2)[A-Z][A-Za-z0-9_]*\)$$/int \1(void) { return 1; }/p' | sort -u | \
  $(CC) -shared -Wl,-soname,$(1) -x c - -o $@
$(BUILD)/cuda/stubs/libcuda.so.1: $(ENGINE_OBJ)
	$(call stub,libcuda.so.1,cu)
$(BUILD)/cuda/stubs/libnccl.so.2: $(ENGINE_OBJ)
	$(call stub,libnccl.so.2,nccl)
$(CUDA_SHARED): $(CUDA_LIBRARY_OBJ) $(CUDA_STUBS) $(SHARED) cuda/engine/exports.map
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof_cuda.so.$(SONAME) \
	  -Wl,--version-script=cuda/engine/exports.map $(if $(SANITIZE),,-Wl,-z,defs) -o $@ \
	  $(filter %.o,$^) $(ALL_LDFLAGS) $(CUDA_STUBS) $(SHARED) \
	  $(firstword $(wildcard $(CUDA_LIB)/libcudart.so.*)) -lstdc++ $(LIBS)

.PHONY: cuda-lib install-cuda cuda-runtime
cuda-runtime: # prints the folder of CUDA's runtime
	@echo $(CUDA_LIB)
cuda-lib: $(CUDA_LIBRARY) $(CUDA_SHARED) ## build the training engine for CUDA devices (nvcc)
install-cuda: cuda-lib install ## install it, too
	install -m 644 $(CUDA_LIBRARY) $(dest)/lib
	install -m 755 $(CUDA_SHARED) $(dest)/lib
	ln -sf libzeroproof_cuda.so.$(VERSION) $(dest)/lib/libzeroproof_cuda.so.$(SONAME)
	ln -sf libzeroproof_cuda.so.$(SONAME) $(dest)/lib/libzeroproof_cuda.so
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' '' 'Name: zeroproof-cuda' \
	  'Description: the training engine of zeroproof on CUDA devices, over NCCL' \
	  'Version: $(VERSION)' 'Requires: zeroproof' \
	  'Libs: -L$${libdir} -lzeroproof_cuda -lcudart' \
	  'Libs.private: -lnccl -lcuda -lstdc++ $(OPENMP)' > $(dest)/lib/pkgconfig/zeroproof-cuda.pc
	chmod 644 $(dest)/lib/pkgconfig/zeroproof-cuda.pc
