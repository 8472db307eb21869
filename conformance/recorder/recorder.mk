# The recorders for NCCL programs: a library to be preloaded, and a profiler plugin; and the programs
# that test them. Included by the Makefile.

NCCL_RECORDER  := $(BUILD)/libzptrace_nccl.so
NCCL_PROFILER  := $(BUILD)/libnccl-profiler-zeroproof.so
NCCL_PROGRAM   := $(BUILD)/tests/trace/nccl_program
NCCL_CALLS     := $(BUILD)/tests/trace/nccl_calls
NCCL_FAKE      := $(BUILD)/tests/trace/libnccl_fake.so
NCCL_PLACES    := $(BUILD)/tests/trace/libnccl_places.so
NCCL_FUNCTIONS := $(BUILD)/tests/trace/nccl_functions.txt
NCCL_TRACE     := conformance/recorder/nccl_trace.c conformance/recorder/nccl_trace.h

# NCCL closes a plugin with the last communicator and opens it again with the next: what it has
# written so far must not be lost (nodelete).
# A sanitizer's runtime cannot be preloaded by way of this library: it is built without.
RECORDER_CFLAGS := -std=c11 -O2 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared

NCCL_PRELOAD := $(wildcard conformance/recorder/nccl_comms.? conformance/recorder/nccl_real.?)
$(NCCL_RECORDER): conformance/recorder/nccl_record.c $(NCCL_PRELOAD) $(NCCL_TRACE) | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(RECORDER_CFLAGS) $(CUDA_CPPFLAGS) $(filter %.c,$^) -o $@ -ldl -pthread

$(NCCL_PROGRAM): tests/trace/nccl_program.c $(SIMDEV_SHARED) | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)ln -sf libsimdev.so.$(VERSION) $(BUILD)/libsimdev.so.$(SONAME)
	$(Q)$(CC) $(ALL_CFLAGS) -Icuda/simdev $(CUDA_CPPFLAGS) $< -o $@ $(SIMDEV_SHARED) $(ALL_LDFLAGS) \
	  -Wl,-rpath,'$$ORIGIN/../..'

# What simdev has not: a library that answers all calls, and a program that makes them.
$(NCCL_FAKE): tests/trace/nccl_fake.c | $(CUDA_HEADERS)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) -shared $(CUDA_CPPFLAGS) $< -o $@

$(NCCL_CALLS): tests/trace/nccl_calls.c $(NCCL_FAKE) | $(CUDA_HEADERS)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) $(CUDA_CPPFLAGS) $< -o $@ $(NCCL_FAKE) $(ALL_LDFLAGS) -Wl,-rpath,'$$ORIGIN'

$(NCCL_PLACES): tests/trace/nccl_places.c $(NCCL_FAKE) | $(CUDA_HEADERS)
	$(say) LD $@
	$(Q)$(CC) $(ALL_CFLAGS) -shared $(CUDA_CPPFLAGS) $< -o $@ $(NCCL_FAKE) -Wl,-rpath,'$$ORIGIN'

$(NCCL_PROFILER): conformance/recorder/nccl_profiler.c conformance/recorder/nccl_profiler.h $(NCCL_TRACE)
	@mkdir -p $(@D)
	$(say) LD $@
	$(Q)$(CC) $(RECORDER_CFLAGS) $(filter %.c,$^) -o $@ -Wl,-z,nodelete -pthread

# The functions of nccl.h, but for their second names, pnccl….
$(NCCL_FUNCTIONS): $(NCCL_INC)/nccl.h
	@mkdir -p $(@D)
	$(Q)sed -nE 's/^(ncclResult_t|const char *\*) *(nccl[A-Za-z0-9]+) *\(.*/\2/p' $< | sort -u >$@

.PHONY: recorder
recorder: $(NCCL_RECORDER) $(NCCL_PROFILER) ## build the recorders for NCCL programs

# Installed as well where NCCL's header is there, or it was built: that fetches nothing.
RECORDERS := $(NCCL_PROFILER) $(if $(or $(wildcard $(NCCL_RECORDER)),$(and \
               $(wildcard $(CUDA_INC)/cuda_runtime_api.h),$(wildcard $(NCCL_INC)/nccl.h))),$(NCCL_RECORDER))
.PHONY: install-recorder uninstall-recorder
install-recorder: $(NCCL_RECORDER) ## install the recorders for NCCL programs, under PREFIX (and DESTDIR)
install-recorder install: install-recorders
.PHONY: install-recorders
install-recorders: $(RECORDERS)
	install -d $(dest)/lib
	for l in $(NCCL_RECORDER) $(NCCL_PROFILER); do [ ! -e $$l ] || \
	  install -m 755 $$l $(dest)/lib || exit 1; done
uninstall-recorder:
	rm -f $(dest)/lib/$(notdir $(NCCL_RECORDER)) $(dest)/lib/$(notdir $(NCCL_PROFILER))
uninstall: uninstall-recorder

unit: $(NCCL_RECORDER) $(NCCL_PROFILER) $(NCCL_PROGRAM) $(NCCL_CALLS) $(NCCL_PLACES) $(NCCL_FUNCTIONS)
