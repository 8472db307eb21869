# The recorder for NCCL programs, to be preloaded, and the program that tests it. Included by the
# Makefile.

NCCL_RECORDER := $(BUILD)/libzptrace_nccl.so
NCCL_PROGRAM  := $(BUILD)/tests/trace/nccl_program

# A sanitizer's runtime cannot be preloaded by way of this library: it is built without.
$(NCCL_RECORDER): conformance/recorder/nccl_record.c | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) -std=c11 -O2 -Wall -Wextra -Werror -fPIC -shared $(CUDA_CPPFLAGS) $< -o $@ -ldl -pthread

$(NCCL_PROGRAM): tests/trace/nccl_program.c $(SIMDEV_SHARED) | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)ln -sf libsimdev.so.$(VERSION) $(BUILD)/libsimdev.so.$(SONAME)
	$(Q)$(CC) $(ALL_CFLAGS) -Icuda/simdev $(CUDA_CPPFLAGS) $< -o $@ $(SIMDEV_SHARED) $(ALL_LDFLAGS) \
	  -Wl,-rpath,'$$ORIGIN/../..'

.PHONY: recorder
recorder: $(NCCL_RECORDER) ## build the recorder for NCCL programs, to be preloaded
unit: $(NCCL_RECORDER) $(NCCL_PROGRAM)
