# The recorders for NCCL programs (a preloaded library and a profiler plugin) and the programs that
# test them. Included by the Makefile.

NCCL_RECORDER  := $(BUILD)/libzptrace_nccl.so
NCCL_PROFILER  := $(BUILD)/libnccl-profiler-zeroproof.so
NCCL_PROGRAM   := $(BUILD)/tests/drivers/trace/nccl_program
NCCL_CALLS     := $(BUILD)/tests/drivers/trace/nccl_calls
NCCL_FAKE      := $(BUILD)/tests/drivers/trace/libnccl_fake.so
NCCL_MULTI_RANK    := $(BUILD)/tests/drivers/trace/libnccl_multi_rank.so
NCCL_FUNCTIONS := $(BUILD)/tests/drivers/trace/nccl_functions.txt
NCCL_TRACE     := conformance/recorder/nccl_trace.c conformance/recorder/nccl_trace.h

# nodelete: NCCL closes a plugin with the last communicator and opens it again with the next, and
# the plugin must keep its open files.
# The recorder is built without sanitizers: a preloaded library cannot load a sanitizer's runtime.
RECORDER_CFLAGS := -std=c11 -O2 -Wall -Wextra -fPIC -fvisibility=hidden -shared

NCCL_PRELOAD := $(wildcard conformance/recorder/nccl_comms.? conformance/recorder/nccl_real.?)
$(NCCL_RECORDER): conformance/recorder/nccl_record.c $(NCCL_PRELOAD) $(NCCL_TRACE) | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call compile,$(CC) $(RECORDER_CFLAGS) $(CUDA_CPPFLAGS) $(filter %.c,$^) -o $@ -ldl -pthread)

$(NCCL_PROGRAM): tests/drivers/trace/nccl_program.c $(SIMDEV_SHARED) | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)ln -sf libsimdev.so.$(VERSION) $(BUILD)/libsimdev.so.$(SONAME)
	$(call compile,$(CC) $(ALL_CFLAGS) -Icuda/simdev $(CUDA_CPPFLAGS) $< -o $@ $(SIMDEV_SHARED) \
	  $(ALL_LDFLAGS) -Wl$(comma)-rpath$(comma)'$$ORIGIN/../../..')

# Calls that simdev lacks: a library that accepts them, and a program that makes them. Programs find
# the library in their own folder.
NCCL_RPATH = -Wl,-rpath,'$$ORIGIN'
$(NCCL_FAKE): tests/drivers/trace/nccl_fake.c | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call compile,$(CC) $(ALL_CFLAGS) -shared $(CUDA_CPPFLAGS) $< -o $@)

$(NCCL_CALLS): tests/drivers/trace/nccl_calls.c $(NCCL_FAKE) | $(CUDA_HEADERS)
	$(say) LD $@
	$(call compile,$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) $< -o $@ $(NCCL_FAKE) $(ALL_LDFLAGS) \
	  $(NCCL_RPATH))

$(NCCL_MULTI_RANK): tests/drivers/trace/nccl_multi_rank.c $(NCCL_FAKE) | $(CUDA_HEADERS)
	$(say) LD $@
	$(call compile,$(CC) $(ALL_CFLAGS) -shared $(CUDA_CPPFLAGS) $< -o $@ $(NCCL_FAKE) $(NCCL_RPATH))

NCCL_PLUGIN := $(wildcard conformance/recorder/nccl_profiler.?)
$(NCCL_PROFILER): $(NCCL_PLUGIN) $(NCCL_TRACE)
	@mkdir -p $(@D)
	$(say) LD $@
	$(call compile,$(CC) $(RECORDER_CFLAGS) $(filter %.c,$^) -o $@ -Wl$(comma)-z$(comma)nodelete \
	  -pthread)

# The functions of nccl.h without their second names, pnccl….
$(NCCL_FUNCTIONS): $(NCCL_INC)/nccl.h
	@mkdir -p $(@D)
	$(Q)sed -nE 's/^(ncclResult_t|const char *\*) *(nccl[A-Za-z0-9]+) *\(.*/\2/p' $< | sort -u >$@

.PHONY: recorder
recorder: $(NCCL_RECORDER) $(NCCL_PROFILER) ## build the recorders for NCCL programs

# `make install` installs the preloaded recorder only if it is built or NCCL's header is present, so
# that it downloads nothing.
NCCL_HEADERS := $(and $(wildcard $(CUDA_INC)/cuda_runtime_api.h),$(wildcard $(NCCL_INC)/nccl.h))
RECORDERS := $(NCCL_PROFILER) \
             $(if $(wildcard $(NCCL_RECORDER))$(NCCL_HEADERS),$(NCCL_RECORDER))
.PHONY: install-recorder uninstall-recorder
install-recorder: $(NCCL_RECORDER) ## install the recorders for NCCL under PREFIX (and DESTDIR)
install-recorder install: install-recorders
.PHONY: install-recorders
install-recorders: $(RECORDERS)
	install -d $(dest)/lib
	for l in $(NCCL_RECORDER) $(NCCL_PROFILER); do [ ! -e $$l ] || \
	  install -m 755 $$l $(dest)/lib || exit 1; done
uninstall-recorder:
	rm -f $(dest)/lib/$(notdir $(NCCL_RECORDER)) $(dest)/lib/$(notdir $(NCCL_PROFILER))
uninstall: uninstall-recorder

unit: $(NCCL_RECORDER) $(NCCL_PROFILER)
unit: $(NCCL_PROGRAM) $(NCCL_CALLS) $(NCCL_MULTI_RANK) $(NCCL_FUNCTIONS)
