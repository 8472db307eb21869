# simdev, its ThreadSanitizer variant, and their tests; no GPU is required.
# Included by the Makefile.

# CUDA's headers are the toolkit's, or downloaded; nccl.h is always downloaded, for its version.
CUDA_HOME  ?= /usr/local/cuda
CUDA_CACHE := $(or $(ZP_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/zeroproof)
CUDA_INC   := $(if $(wildcard $(CUDA_HOME)/include/cuda_runtime_api.h),$(CUDA_HOME)/include,$\
                $(CUDA_CACHE)/cuda-13.0/include)
NCCL_INC   := $(CUDA_CACHE)/nccl-2.30.7
CUDA_CPPFLAGS := -isystem $(CUDA_INC) -isystem $(CUDA_INC)/cccl -isystem $(NCCL_INC)
CUDA_HEADERS  := $(CUDA_INC)/cuda_runtime_api.h $(NCCL_INC)/nccl.h

# pip is required only to download them.
PACKAGES_TEST += $(if $(and $(wildcard $(CUDA_INC)/cuda_runtime_api.h),$\
                   $(wildcard $(NCCL_INC)/nccl.h)),,python3-pip)

$(NCCL_INC)/nccl.h:
	@sh cuda/fetch_headers.sh nccl
$(CUDA_CACHE)/cuda-13.0/include/cuda_runtime_api.h:
	@sh cuda/fetch_headers.sh cuda

SIMDEV_SRC  := $(sort $(wildcard cuda/simdev/*.c))
SIMDEV_OBJ  := $(SIMDEV_SRC:%.c=$(BUILD)/%.o)
SIMDEV      := $(BUILD)/libsimdev.a
SIMDEV_SHARED   := $(BUILD)/libsimdev.so.$(VERSION)
SIMDEV_TEST_SRC := $(sort $(wildcard tests/cuda/simdev/test_*.c))
SIMDEV_TESTS    := $(SIMDEV_TEST_SRC:tests/%.c=$(BUILD)/tests/%)
EXAMPLE         := $(BUILD)/cuda/simdev/example/two_producers
SIMDEV_BENCH    := $(BUILD)/tests/bench/bench_orders

SIMDEV_PROGRAM_OBJ := $(SIMDEV_TESTS:%=%.o) $(EXAMPLE).o $(SIMDEV_BENCH).o

$(SIMDEV_OBJ) $(SIMDEV_PROGRAM_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(SIMDEV_OBJ) $(SIMDEV_PROGRAM_OBJ): | $(CUDA_HEADERS)
# The example includes the installed headers, as programs outside this repository do.
$(EXAMPLE).o $(BUILD)/tsan/cuda/simdev/example/two_producers.o: CPPFLAGS += -Icuda/simdev

$(SIMDEV): $(SIMDEV_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(SIMDEV_OBJ)

# Exports only the symbols of CUDA, NCCL and simdev.h.
$(SIMDEV_SHARED): $(SIMDEV_OBJ) cuda/simdev/exports.map
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libsimdev.so.$(SONAME) \
	  -Wl,--version-script=cuda/simdev/exports.map -o $@ $(SIMDEV_OBJ) $(ALL_LDFLAGS)

$(SIMDEV_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(SIMDEV)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) -lcriterion -lm)

$(BUILD)/tests/cuda/simdev/test_device_kernels: $(CUDA_KERNEL_OBJ) $(STATIC)

$(EXAMPLE) $(SIMDEV_BENCH): %: %.o $(SIMDEV)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS))

# ---- ThreadSanitizer -----------------------------------------------------------------------------

# simdev is not instrumented: it reports to the sanitizer only the order that CUDA guarantees. So it
# must not call string functions, which the sanitizer intercepts. Hosts and kernels are
# instrumented. gcc, whose package has the runtime.
TSAN_CC    ?= gcc
TSAN_FLAGS := -std=c11 -O2 -g -fno-omit-frame-pointer -ffp-contract=off -fno-strict-aliasing \
              -Wall -Wextra -pthread -fPIC -ffile-prefix-map=$(CURDIR)=.
SIMDEV_TSAN_OBJ := $(SIMDEV_SRC:%.c=$(BUILD)/tsan/%.o)
SIMDEV_TSAN     := $(BUILD)/libsimdev_tsan.a
RACE_SRC        := $(sort $(wildcard tests/drivers/simdev/race_*.c))
RACE_PROGRAMS   := $(RACE_SRC:tests/%.c=$(BUILD)/tests/%)

$(BUILD)/tsan/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(TSAN_CC) $(subst $(CURDIR),,$(TSAN_FLAGS))' | cmp -s - $@ || \
	  printf '%s\n' '$(TSAN_CC) $(subst $(CURDIR),,$(TSAN_FLAGS))' > $@

$(BUILD)/tsan/cuda/simdev/%.o: cuda/simdev/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -minline-all-stringops -DSIMDEV_TSAN $(CUDA_CPPFLAGS) \
	  -MMD -MP -c $< -o $@)

$(BUILD)/tsan/%.o: %.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) -MMD -MP -c $< -o $@)

$(BUILD)/tsan/cuda/simdev/example/%.o: cuda/simdev/example/%.c $(BUILD)/tsan/flags | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) CC "$< (tsan)"
	$(call compile,$(TSAN_CC) $(TSAN_FLAGS) -fsanitize=thread $(CUDA_CPPFLAGS) $(CPPFLAGS) -c $< -o $@)

$(SIMDEV_TSAN): $(SIMDEV_TSAN_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(SIMDEV_TSAN_OBJ)

$(RACE_PROGRAMS): $(BUILD)/tests/%: $(BUILD)/tsan/tests/%.o $(SIMDEV_TSAN)
$(SIMDEV_BENCH)_tsan: $(BUILD)/tsan/tests/bench/bench_orders.o $(SIMDEV_TSAN)
$(EXAMPLE)_tsan: $(BUILD)/tsan/cuda/simdev/example/two_producers.o $(SIMDEV_TSAN)
$(RACE_PROGRAMS) $(EXAMPLE)_tsan $(SIMDEV_BENCH)_tsan:
	@mkdir -p $(@D)
	$(say) LD $@
	$(call link,$(TSAN_CC),-fsanitize=thread -pthread)

.PHONY: simdev
SIMDEV_LIBRARIES := $(SIMDEV) $(SIMDEV_SHARED) $(SIMDEV_TSAN)
simdev: $(SIMDEV_LIBRARIES) ## build libsimdev: CUDA's runtime and NCCL on the CPU

.PHONY: simdev-bench
simdev-bench: $(SIMDEV_BENCH) $(SIMDEV_BENCH)_tsan ## measure how many orders simdev runs in an hour
	@$(SIMDEV_BENCH) 20000
	@$(SIMDEV_BENCH)_tsan 2000

# ---- Installing ----------------------------------------------------------------------------------

# Separate from install, which installs it only if it is built, and so downloads no headers. The
# pkg-config files name simdev's headers of CUDA; --define-variable=cuda=… selects others.
define simdev_pc
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include/simdev
cuda=$(CUDA_INC)
nccl=$(NCCL_INC)

Name: $(1)
Description: the CUDA runtime and NCCL on the CPU, for finding races$(2)
Version: $(VERSION)
Cflags: -I$${includedir} -isystem $${cuda} -isystem $${nccl}$(3)
Libs: -L$${libdir} -l$(4)$(3)
Libs.private: -pthread
endef
install-simdev: export SIMDEV_PC = $(call simdev_pc,simdev,,,simdev)
install-simdev: export SIMDEV_TSAN_PC = $(call simdev_pc,simdev-tsan,$(comma) for ThreadSanitizer, \
  -fsanitize=thread,simdev_tsan)
comma := ,

.PHONY: install-simdev uninstall-simdev
install-simdev: simdev ## install simdev alone, under PREFIX (and DESTDIR)
	install -d $(dest)/lib/pkgconfig $(dest)/include/simdev
	install -m 644 $(SIMDEV) $(dest)/lib/libsimdev.a
	install -m 644 $(SIMDEV_TSAN) $(dest)/lib/libsimdev_tsan.a
	install -m 755 $(SIMDEV_SHARED) $(dest)/lib/libsimdev.so.$(VERSION)
	ln -sf libsimdev.so.$(VERSION) $(dest)/lib/libsimdev.so.$(SONAME)
	ln -sf libsimdev.so.$(SONAME) $(dest)/lib/libsimdev.so
	install -m 644 cuda/simdev/simdev.h cuda/simdev/kernel.h $(dest)/include/simdev
	printf '%s\n' "$$SIMDEV_PC" > $(dest)/lib/pkgconfig/simdev.pc
	printf '%s\n' "$$SIMDEV_TSAN_PC" > $(dest)/lib/pkgconfig/simdev-tsan.pc
	chmod 644 $(dest)/lib/pkgconfig/simdev.pc $(dest)/lib/pkgconfig/simdev-tsan.pc

uninstall-simdev:
	rm -f $(dest)/lib/libsimdev.a $(dest)/lib/libsimdev_tsan.a $(dest)/lib/libsimdev.so* \
	  $(dest)/lib/pkgconfig/simdev.pc $(dest)/lib/pkgconfig/simdev-tsan.pc
	rm -rf $(dest)/include/simdev

install: $(if $(wildcard $(SIMDEV)),install-simdev)
uninstall: uninstall-simdev

unit: $(SIMDEV_SHARED) $(SIMDEV_TESTS) $(RACE_PROGRAMS) $(EXAMPLE) $(EXAMPLE)_tsan

.PHONY: cuda-flags
cuda-flags: $(CUDA_HEADERS)
	@echo $(CUDA_CPPFLAGS)
