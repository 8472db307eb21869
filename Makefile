# zeroproof. `make help` lists the targets.
#
# Variables: CC (gcc or clang), MPI=0 (without Open MPI, so without `zeroproof launch`),
# SAN=1 (address and undefined-behaviour sanitizers, in build-san/), DEBUG=1 (no optimization, full
# debugging information, in build-debug/), BUILD (the folder of all outputs), PREFIX and DESTDIR
# (make install), JOBS, V=1 (show commands).
# Those of the tests are ONLY, FUZZ_SECONDS, REPEAT_SECONDS, ZP_CACHE, ZP_VERDICTS: tests/README.md.

VERSION := 0.1.0
SONAME  := 0

ifeq ($(origin CC),default)
CC := gcc
endif
PREFIX       ?= /usr/local
MPI          ?= 1
JOBS         ?= $(shell nproc 2>/dev/null || echo 1)
SAN          ?= 0
FUZZ_SECONDS ?= 20

ifeq ($(SAN),1)
BUILD ?= build-san
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
# gcc's estimate of what snprintf may truncate is wild under sanitizers; clang has no such warning.
OPT   := -O1 -g -fno-omit-frame-pointer $(SANITIZE) \
         $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
else ifeq ($(DEBUG),1)
BUILD ?= build-debug
SANITIZE :=
OPT   := -O0 -g3
else
BUILD ?= build
SANITIZE :=
OPT   := -O3
endif

# What Debian 12 calls what we need.
PACKAGES_RUN  := gcc libc6-dev pkg-config libjansson-dev libxxhash-dev libopenmpi-dev openmpi-bin \
                 gnuplot-nox
PACKAGES_TEST := $(PACKAGES_RUN) clang libclang-rt-dev clang-format shellcheck libcriterion-dev \
                 libgmp-dev libmpfr-dev jq iproute2 python3-venv python3-jsonschema python3-jinja2
# For tests and the judge: a python3 that is first on the path may lack what Debian's packages bring
# to Debian's.
WITH_LIBRARIES = PATH="$$(python3 -c 'import jinja2, jsonschema' 2>/dev/null || \
  echo /usr/bin:)$$PATH"
# Versions are pinned in proofs/units.toml.
PACKAGES_PROVE := gcc libc6-dev python3 frama-c-base why3 z3 cvc4 cvc5 coq spin libzarith-ocaml-dev

# Renders the page of the conformance suite in a test.
PACKAGES_PAGE := chromium
# What the programs are linked with and built by, for `make packages`.
PACKAGES_LINKED := libjansson4 libxxhash0 libopenmpi3 libgomp1 libc6 binutils make

# pkg-config is asked only when something is compiled or linked: `make run` may have to install it.
ifneq ($(MPI),0)
MPI_CFLAGS = $(eval MPI_CFLAGS := $$(shell pkg-config --cflags ompi-c))$(MPI_CFLAGS)
MPI_LIBS   = $(eval MPI_LIBS := $$(shell pkg-config --libs ompi-c))$(MPI_LIBS)
endif
LIBS       = $(eval LIBS := $$(shell pkg-config --libs jansson libxxhash) -pthread -lm)$(LIBS)
TEST_LIBS  := -lcriterion -lgmp -lmpfr

# -ffp-contract=off: a fused multiply-add rounds once where the definitions round twice (OPT-3).
# -fPIC: the same objects make the static and the shared library.
CFLAGS   ?=
LDFLAGS  ?=
# -ffile-prefix-map, -Wdate-time: where and when it is built leaves no trace in what is built.
ALL_CFLAGS := -std=c11 $(OPT) -ffp-contract=off -fno-strict-aliasing -Wall -Wextra -Wdate-time \
              -pthread -fPIC -ffile-prefix-map=$(CURDIR)=. $(CFLAGS)
CPPFLAGS += -MMD -MP
# Who does not update on the host needs no library of OpenMP's.
ALL_LDFLAGS = $(SANITIZE) -pthread -Wl,--as-needed $(OPENMP) $(LDFLAGS)

ifeq ($(V),1)
say = @:
Q   :=
else
say = @printf '  %-4s %s\n'
Q   := @
endif

# The library needs no MPI: the MPI backend belongs to the command, and with the engine's public
# functions (ref/engine/engine.h) to a library of its own.
MPI_SRC := $(sort $(wildcard ref/comm/mpi/*.c ref/engine_mpi/*.c))
LIB_SRC := $(sort $(filter-out $(MPI_SRC),$(wildcard ref/base/*.c ref/plan/*.c ref/num/*.c \
             ref/num/simd/*.c ref/engine/*.c ref/comm/*.c ref/comm/calls/*.c ref/comm/sim/*.c \
             ref/comm/job/*.c ref/model/*.c)))
COMM_MPI := $(if $(filter 0,$(MPI)),no_mpi,mpi)
CLI_SRC := $(sort $(filter-out ref/cli/main.c,$(wildcard ref/cli/*.c ref/verify/*.c ref/trace/*.c \
             ref/draw/*.c ref/comm/$(COMM_MPI)/*.c conformance/cases/*.c \
             conformance/adapters/zeroproof/*.c)))
TEST_SRC := $(wildcard tests/ref/*/test_*.c)
include cuda/kernels/kernels.mk
include cuda/host_optimizer/host_optimizer.mk
BENCH_SRC := tests/bench/bench_exact.c
DRIVER_SRC := $(wildcard tests/drivers/*/*_driver.c)
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
MPI_OBJ := $(MPI_SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
TESTS   := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
MPI_TESTS := $(filter $(BUILD)/tests/ref/engine_mpi/%,$(TESTS))
BENCHES := $(BENCH_SRC:tests/%.c=$(BUILD)/tests/%)
DRIVERS := $(DRIVER_SRC:tests/%.c=$(BUILD)/tests/%)
STATIC  := $(BUILD)/libzeroproof.a
SHARED  := $(BUILD)/libzeroproof.so.$(VERSION)
MPI_STATIC := $(BUILD)/libzeroproof_mpi.a
MPI_SHARED := $(BUILD)/libzeroproof_mpi.so.$(VERSION)
COMMAND := $(BUILD)/zeroproof
# Headers that are not installed.
PRIVATE_HEADERS := %_internal.h ref/comm/mpi/comm_mpi_% ref/comm/job/socket.h \
             ref/comm/job/roster.h ref/comm/job/forward.h ref/comm/job/acceptor.h \
             ref/comm/job/token.h ref/comm/job/proc.h ref/comm/job/remains.h \
             ref/comm/job/local_ranks.h ref/base/child.h ref/base/clock.h ref/base/escape.h \
             ref/base/invariant.h ref/base/memory_free.h ref/base/output.h ref/base/process.h \
             ref/model/synth_random.h ref/engine/engine_parts.h ref/engine/checkpoint_format.h \
             ref/engine/held.h ref/engine/message_shape.h ref/engine/log.h ref/engine/rank_plan.h \
             ref/engine/rank_query.h ref/engine/background.h
HEADERS := $(filter-out $(PRIVATE_HEADERS),$(wildcard ref/zeroproof.h ref/base/*.h ref/plan/*.h \
             ref/num/*.h ref/num/simd/*.h ref/engine/*.h ref/comm/*.h ref/comm/*/*.h ref/model/*.h \
             spec/acsl/*.h))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

# ---- Building ------------------------------------------------------------------------------------

.PHONY: all
all: $(COMMAND) ## build build/zeroproof (the default)

.PHONY: debug
debug: ## build build-debug/zeroproof for gdb: -O0 -g3
	@$(MAKE) --no-print-directory DEBUG=1 all

# $(call compile,COMMAND): warnings are errors with WERROR=1, which `make quick` and `make test`
# set; a user's compiler may warn where ours does not. Changing WERROR does not recompile all
# objects, but only those that a file NAME.o.warnings marks as compiled with a warning.
WERROR ?= 0
define compile
$(Q)$(1) $(if $(filter 1,$(WERROR)),-Werror) 2>$@.warnings; code=$$?; cat $@.warnings >&2; \
  [ -s $@.warnings ] || rm -f $@.warnings; exit $$code
endef
ifeq ($(WERROR),1)
$(foreach w,$(shell find $(BUILD) -name '*.warnings' 2>/dev/null),\
  $(shell rm -f $(w) $(w:.warnings=)))
endif

# $(call link,COMPILER,FLAGS): a program of all prerequisites, linked beside its place and renamed:
# who starts it meanwhile starts the one before. Commas in FLAGS stand in variables.
link = $(Q)mkdir -p $(@D) && $(1) -o $@.$$$$ $^ $(2) && mv -f $@.$$$$ $@

# Objects are remade when the compiler or its flags change.
FLAGS = $(CC) $(subst $(CURDIR),,$(ALL_CFLAGS)) $(VERSION) $(COMM_MPI)
.PHONY: FORCE
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS)' | cmp -s - $@ || printf '%s\n' '$(FLAGS)' > $@

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(say) CC $<
	$(call compile,$(CC) $(ALL_CFLAGS) $(CPPFLAGS) $(MPI_CFLAGS) -c $< -o $@)

# What a binary says of its sources (zp_build). A tarball has them in a file, as it has no git.
$(BUILD)/identity: FORCE
	@mkdir -p $(@D)
	@sh proofs/pack.sh identity $(VERSION) | cmp -s - $@ || \
	  sh proofs/pack.sh identity $(VERSION) > $@
$(BUILD)/ref/engine/build_info.o: $(BUILD)/identity
$(BUILD)/ref/engine/build_info.o: CPPFLAGS += $$(cat $(BUILD)/identity)

$(STATIC): $(LIB_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(LIB_OBJ)

$(SHARED): $(LIB_OBJ)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof.so.$(SONAME) -o $@ $(LIB_OBJ) $(ALL_LDFLAGS) \
	  -Wl,--as-needed $(LIBS)

$(MPI_STATIC): $(MPI_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(MPI_OBJ)

$(MPI_SHARED): $(MPI_OBJ) $(SHARED)
	$(say) LD $@
	$(Q)$(CC) -shared -Wl,-soname,libzeroproof_mpi.so.$(SONAME) -o $@ $^ $(ALL_LDFLAGS) \
	  -Wl,--as-needed $(LIBS) $(MPI_LIBS)

# The command without its main(), for tests that call into it.
$(BUILD)/libzpcli.a: $(CLI_OBJ)
	$(say) AR $@
	$(Q)rm -f $@ && ar rcsD $@ $(CLI_OBJ)

$(COMMAND): $(BUILD)/ref/cli/main.o $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

$(filter-out $(MPI_TESTS),$(TESTS)): $(BUILD)/tests/%: $(BUILD)/tests/%.o \
  $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(TEST_LIBS) $(LIBS) $(MPI_LIBS))

# Tests of the public functions over MPI.
$(MPI_TESTS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(MPI_STATIC) $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(TEST_LIBS) $(LIBS) $(MPI_LIBS))

# Programs that scripted tests start.
$(DRIVERS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(MPI_STATIC) $(BUILD)/libzpcli.a $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $(MPI_LIBS))

# The benchmark compares with OpenBLAS where there is one.
$(BENCHES): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(STATIC)
	$(say) LD $@
	$(call link,$(CC),$(ALL_LDFLAGS) $(LIBS) $$(pkg-config --libs openblas))

# The man page lists what --help of each sub-command lists.
$(BUILD)/zeroproof.1: ref/cli/zeroproof.1 ref/cli/man.sh $(COMMAND)
	$(say) GEN $@
	$(Q)sh ref/cli/man.sh $< $(COMMAND) > $@

.PHONY: unit
unit: $(TESTS) $(DRIVERS) ## build the Criterion tests

.PHONY: unit-ref
unit-ref: $(filter $(BUILD)/tests/ref/%,$(TESTS)) $(DRIVERS)

.PHONY: lib
lib: $(STATIC) $(SHARED) $(if $(filter mpi,$(COMM_MPI)),$(MPI_STATIC) $(MPI_SHARED))
lib: ## build the libraries

# ---- The two commands ----------------------------------------------------------------------------

# $(call need,PACKAGES): installs what is missing, and only that.
define need
set -e; \
if ! command -v dpkg-query >/dev/null 2>&1; then \
  if command -v $(CC) >/dev/null && pkg-config --exists jansson libxxhash ompi-c; then exit 0; fi; \
  echo "make: this is not Debian: please install a C compiler, pkg-config, jansson, xxhash," \
       "Open MPI (and, for the tests, Criterion, GMP, MPFR, clang, jq), with headers." >&2; \
  exit 1; \
fi; \
missing=""; \
for p in $(1); do \
  dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || \
    missing="$$missing $$p"; \
done; \
[ -n "$$missing" ] || exit 0; \
if [ "$$(id -u)" != 0 ]; then \
  echo "make: missing packages:$$missing" >&2; \
  echo "make: run this as root, or: sudo apt-get install$$missing" >&2; \
  exit 1; \
fi; \
echo "installing:$$missing"; \
export DEBIAN_FRONTEND=noninteractive; \
ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || apt-get update -q; \
apt-get install -yq --no-install-recommends $$missing || \
  { apt-get update -q; apt-get install -yq --no-install-recommends $$missing; }
endef

.PHONY: run
run: ## install what is missing, build, train and verify, show the deadlock
	@$(call need,$(PACKAGES_RUN))
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@sh tests/demo.sh $(BUILD)

# The tests' runner with the variables of this make.
RUN = env -u MAKEFLAGS $(WITH_LIBRARIES) ZP_BUILD=$(BUILD) CC='$(CC)' SAN=$(SAN) \
  CFLAGS='$(CFLAGS)' \
  LDFLAGS='$(LDFLAGS)' \
  FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS) MAKE='$(MAKE)' ZP_CUDA_FLAGS='$(CUDA_CPPFLAGS)' \
  python3 -B tests/runner/run.py

# Under sanitizers the proofs would say nothing new.
.PHONY: test quick
test: ## everything: lint, quick, conformance, proofs, enumeration, 20 mutants (SAN=1: quick)
	@$(MAKE) --no-print-directory lint-text
	@$(call need,$(PACKAGES_TEST) $(if $(filter 1,$(SAN)),,$(PACKAGES_PROVE) $(PACKAGES_PAGE)))
ifeq ($(SAN),1)
	@$(MAKE) --no-print-directory quick LINTED=1
else
	@$(fetched) $(MAKE) --no-print-directory -j$(JOBS) WERROR=1 all unit lib lint-objects && \
	  $(MAKE) --no-print-directory -j$(JOBS) WERROR=1 SAN=1 BUILD=build-san all unit-ref \
	    $(SAN_SIMDEV) || exit; \
	  wait $$fetching || { cat $(BUILD)/fetched.log; exit 3; }
	@$(RUN) --all $(ONLY)
endif
# Downloads the subjects' environments (tests/conformance/streams_test.py also uses DeepSpeed
# 0.19.2) and nvcc while the programs are built. Without nvcc only its tests are missing.
fetched = mkdir -p $(BUILD) && { sh conformance/subject.sh usual && \
  sh conformance/subject.sh deepspeed-0.19.2 && \
  sh conformance/locks/venv.sh cyclonedx cyclonedx && \
  { sh cuda/kernels/nvcc.sh && sh cuda/kernels/nvcc.sh --nvdisasm || :; }; \
  } >$(BUILD)/fetched.log 2>&1 & fetching=$$!;

.PHONY: evidence
evidence: ## check everything without stored verdicts and prover cache; compare stored verdicts
	@ZP_VERDICTS=compare $(MAKE) --no-print-directory test; code=$$?; \
	  $(MAKE) --no-print-directory packages && cat $(BUILD)/packages.txt && exit $$code
quick: ## install what is missing, build, run all tests but the proofs (ONLY="WORD…")
	@$(call need,$(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) WERROR=1 all unit lib lint-objects
	@lint=0; $(if $(ONLY),,$(MAKE) --no-print-directory $(LINT_NOW) || lint=1;) \
	$(RUN) $(ONLY) && { [ $$lint = 0 ] || \
	  { echo "make quick: the linter found errors, see above" >&2; exit 1; }; }

# It runs the CUDA engine on hostile inputs.
SAN_SIMDEV = build-san/zeroproof-simdev
.PHONY: hostile
hostile: ## hostile inputs under the sanitizers (SECONDS=60, SEED=…, TABLE=1: write the table)
	@$(call need,$(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) SAN=1 BUILD=build-san all $(SAN_SIMDEV)
	@python3 -B tests/hostile/run.py --jobs $(JOBS) --seconds $(or $(SECONDS),60) \
	  $(if $(SEED),--seed $(SEED)) $(if $(filter 1,$(TABLE)),--table tests/hostile/README.md)

.PHONY: bench
bench: ## measure the exact sum's throughput beside OpenBLAS and a plain read
	@$(call need,$(PACKAGES_RUN) libopenblas-dev)
	@$(MAKE) --no-print-directory -j$(JOBS) $(BENCHES)
	@set -e; for b in $(BENCHES); do $$b; done

# ---- Proofs with WP: proofs/README.md ------------------------------------------------------------

# The gate decides: it also reports what was not run.

N ?= 0

.PHONY: prove prove-cold prove-cache prove-update audit smoke claims claims-accept gate-test \
        mutants eacsl
prove: ## prove what changed, judge all of it, prove units drawn at random without the cache
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --jobs $(JOBS); \
	  python3 -B proofs/gate.py --jobs $(JOBS) && python3 -B proofs/cold.py

prove-%: ## prove one unit of proofs/units.toml, asking provers for what the cache lacks
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --jobs $(JOBS) --mode update $*; \
	  python3 -B proofs/gate.py $*

prove-cold: ## prove everything again without the cache
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --jobs $(JOBS) --mode cold; \
	  python3 -B proofs/gate.py
prove-cache: ## make the cache of the last prove-cold
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --pack
prove-update: ## prove what changed and add to the cache what it lacks
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --jobs $(JOBS) --mode update; \
	  python3 -B proofs/gate.py

audit: ## check every claim again, nothing cached: proofs, Coq, Spin, mutants (STEPS="coq spin")
	@$(call need,$(PACKAGES_PROVE) $(PACKAGES_RUN) clang libclang-rt-dev)
	@$(MAKE) --no-print-directory -j$(JOBS) $(STATIC)
	@CC='$(CC)' python3 -B proofs/audit.py --build $(BUILD) --jobs $(JOBS) $(STEPS)

smoke: ## WP's smoke tests: contradictory requires, dead code (COLD=1: without the cache)
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/prove.py --jobs $(JOBS) --smoke \
	  $(if $(COLD),--mode cold,$(if $(UPDATE),--mode update))

claims: ## write CLAIMS.md from proofs that were run in this source tree
	@$(call need,$(PACKAGES_PROVE))
	@ZP_VERDICTS=none python3 -B proofs/prove.py --jobs $(JOBS); \
	  ZP_VERDICTS=none python3 -B proofs/claims.py
claims-accept: ## take over changed names and texts of what is proven: proofs/claimed.txt
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/gate.py --accept

gate-test: ## inject failures into a small project: the gate must report each
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B tests/proofs/test_gate.py

mutants: ## break code and contracts: a proof must fail (N=20: changes of code; SEED=...: which)
	@$(call need,$(PACKAGES_PROVE))
	@python3 -B proofs/mutate.py --jobs $(JOBS) --sample $(N) $(if $(SEED),--seed $(SEED))

eacsl: ## unit tests with the contracts checked at run time (E-ACSL)
	@$(call need,$(PACKAGES_PROVE) $(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) $(STATIC)
	@python3 -B proofs/eacsl.py --build $(BUILD)

# ---- Proofs beside WP, and the distributed files ------------------------------------------------

# $(call check,NAME,FILES): runs proofs/NAME/run.sh when that or FILES changed since its last good
# run, which build/NAME/report.txt reports.
define check
$(BUILD)/$(1)/good: $(wildcard proofs/$(1)/*) $(2)
	@mkdir -p $$(@D)
	@SAN=$(SAN) CC='$(CC)' sh proofs/$(1)/run.sh $(BUILD) > $$(@D)/report.txt 2>&1 || \
	  { cat $$(@D)/report.txt; exit 1; }
	@cat $$(@D)/report.txt
	@touch $$@
endef
$(eval $(call check,coq,$(STATIC) $(wildcard spec/acsl/*.h ref/plan/*.h)))
$(eval $(call check,spin,))
$(eval $(call check,enumerate,$(STATIC)))

.PHONY: coq spin model-check
coq: $(BUILD)/coq/good ## prove in Coq: no deadlock, any order of a sum, sharded equals serial
	@tail -n 1 $(<D)/report.txt
spin: $(BUILD)/spin/good ## search all interleavings at small sizes; injected deadlocks are found
	@tail -n 1 $(<D)/report.txt
model-check: $(BUILD)/enumerate/good ## contracts checked by exhaustive enumeration to stated bounds
	@tail -n 1 $(<D)/report.txt

.PHONY: dist artifact reproducible
dist: ## pack the sources
	@sh proofs/pack.sh dist $(VERSION) $(BUILD)
artifact: ## pack sources, claims, reports of the proofs and how to make them again
	@sh proofs/pack.sh artifact $(VERSION) $(BUILD)
reproducible: all lib ## a build in another folder, from a tarball, gives the same bits
	@ZP_BUILD=$(BUILD) SAN=$(SAN) CC='$(CC)' MAKE='$(MAKE)' sh tests/proofs/test_reproducible.sh

.PHONY: packages sbom
ALL_PACKAGES = $(sort $(foreach v,$(filter PACKAGES_%,$(.VARIABLES)),$($(v))))
packages: ## write versions of the Debian packages that are used to build/packages.txt
	@mkdir -p $(BUILD)
	@dpkg-query -W -f='$${Package} $${Version} $${db:Status-Status}\n' $(ALL_PACKAGES) 2>/dev/null | \
	  awk '$$3 == "installed" { print $$1, $$2 }' | LC_ALL=C sort -u >$(BUILD)/packages.txt
	@for p in $(ALL_PACKAGES); do grep -q "^$$p " $(BUILD)/packages.txt || none="$$none $$p"; done; \
	  echo "$(BUILD)/packages.txt: versions of $$(wc -l <$(BUILD)/packages.txt) Debian packages;" \
	  "not installed:$${none:- none}"
sbom: packages ## write the CycloneDX bill of materials of a release to build/sbom.json
	@$(call need,python3 python3-venv)
	@python=$$(sh conformance/locks/venv.sh cyclonedx cyclonedx) && \
	  $$python -B conformance/locks/sbom.py $(VERSION) $(BUILD)/packages.txt $(BUILD)/sbom.json

.PHONY: format
format: ## clang-format all sources
	clang-format -i $$(git ls-files -co --exclude-standard 'ref/*.[ch]' 'cuda/*.[ch]' \
	  'conformance/*.[ch]' 'tests/*.[ch]')

# ---- CUDA ----------------------------------------------------------------------------------------

include cuda/cuda.mk
include cuda/happens_before/happens_before.mk
include cuda/engine/engine.mk
include cuda/gpt/gpt.mk
include cuda/verify/verify.mk
include cuda/nccl_threads/nccl_threads.mk
include cuda/cli/cli.mk
include cuda/gpu/gpu.mk
include cuda/norm/norm.mk cuda/binding/binding.mk
include conformance/recorder/recorder.mk
include tests/lint/lint.mk ref/binding/binding.mk tests/ref/trace/trace.mk tests/ref/cli/elastic.mk
include tests/ref/hosts.mk ref/engine_cases/engine_cases.mk cuda/engine_cases/engine_cases.mk

# ---- Conformance ---------------------------------------------------------------------------------

# The files of `zeroproof check`, the documents for authors of adapters, and the requirements of the
# adapters: recorders, and the command that makes their environments.
CONFORMANCE_FILES := $(wildcard conformance/*.md conformance/judge/*.py conformance/judge/*.json \
                       conformance/judge/templates/* conformance/mutants.json \
                       conformance/schema/*.json conformance/known/*.json \
                       conformance/support/*.json conformance/quick/*.json \
                       conformance/reports/*.py conformance/reports/*.md \
                       conformance/adapters/*.py conformance/recorder/*.py \
                       conformance/recorder/pyproject.toml conformance/locks/*.txt \
                       conformance/subjects.txt)
CONFORMANCE_PROGRAMS := conformance/subject.sh conformance/locks/venv.sh

PACKAGES_CONFORMANCE := $(PACKAGES_RUN) python3 python3-jinja2 python3-jsonschema python3-venv

.PHONY: conformance conformance-all conformance-axes conformance-new conformance-quick
conformance: ## judge ref, PyTorch, DeepSpeed, Megatron, … (SUBJECTS=…, BUDGET=…, ACCEPT=1)
	@$(call need,$(PACKAGES_CONFORMANCE))
	@$(MAKE) --no-print-directory -j$(JOBS) all lib $(SIMDEV_COMMAND)
	@$(WITH_LIBRARIES) CASES='$(CASES)' SECONDS_EACH='$(SECONDS_EACH)' BUDGET='$(BUDGET)' \
	  ACCEPT='$(ACCEPT)' ALL='$(ALL)' sh conformance/run.sh $(BUILD) $(SUBJECTS)
conformance-all: ## the same for all subjects, also slow and superseded ones; all reports
	@$(MAKE) --no-print-directory conformance ALL=1; code=$$?; \
	  $(MAKE) --no-print-directory conformance-reports && exit $$code
conformance-axes: ## write conformance/AXES.md: which subject supports which values, and why not
	@$(WITH_LIBRARIES) python3 -B \
	  conformance/judge/table.py conformance/AXES.md conformance/support/*.json
conformance-new: ## judge releases that are newer than the pinned ones (SUBJECTS=…, SECONDS_EACH=…)
	@$(call need,$(PACKAGES_CONFORMANCE))
	@$(MAKE) --no-print-directory -j$(JOBS) all lib
	@$(WITH_LIBRARIES) SECONDS_EACH='$(SECONDS_EACH)' sh conformance/new.sh $(BUILD) $(SUBJECTS)
conformance-quick: ## a selection of it in which each clause and each subject occurs
	@$(call need,$(PACKAGES_CONFORMANCE))
	@$(MAKE) --no-print-directory -j$(JOBS) all lib $(SIMDEV_COMMAND)
	@$(WITH_LIBRARIES) QUICK=1 SEED='$(SEED)' sh conformance/run.sh $(BUILD) $(SUBJECTS)

.PHONY: conformance-reports
conformance-reports: all ## run the reports' scripts (CAUSES=…; SHARE=3 SEED=…: a third; ACCEPT=1)
	@$(WITH_LIBRARIES) SHARE='$(SHARE)' SEED='$(SEED)' ACCEPT='$(ACCEPT)' \
	  sh conformance/reports.sh $(BUILD) $(CAUSES)

# The subjects' adapters, for a program that reads them from its standard input.
conformance_commands = export $(WITH_LIBRARIES); \
  COMMANDS=1 sh conformance/run.sh $(BUILD) $(SUBJECTS) >$(BUILD)/commands && \
  ZEROPROOF=$(COMMAND) python3 -B conformance/judge/$(1) <$(BUILD)/commands
.PHONY: conformance-hunt conformance-steady
conformance-hunt: ## look for new failures for HOURS=1 hours; continues its list (SUBJECTS=…)
	@$(call need,$(PACKAGES_CONFORMANCE))
	@$(MAKE) --no-print-directory -j$(JOBS) all lib $(SIMDEV_COMMAND)
	@$(call conformance_commands,hunt.py) --hours $(or $(HOURS),1) --jobs $(JOBS) \
	  --out $(BUILD)/conformance-hunt
conformance-steady: ## three seeds, idle and beside 8 busy processes: the same causes (SUBJECTS=…)
	@$(call need,$(PACKAGES_CONFORMANCE))
	@$(MAKE) --no-print-directory -j$(JOBS) all lib $(SIMDEV_COMMAND)
	@$(call conformance_commands,steady.py) --jobs $(JOBS)

# A subject without a fault passes everything, and one with a historic bug does not.
CONFORMANCE_SEED = $(or $(SEED),$$(date +%s))
.PHONY: conformance-ref conformance-mutants
conformance-ref: all ## put ref through N=100000 random cases (SEED=…): not one may fail
	$(COMMAND) check --adapter "$(COMMAND) adapter" --cases $(if $(filter-out 0,$(N)),$(N),100000) \
	  --seed $(CONFORMANCE_SEED) --jobs $(JOBS)
conformance-mutants: all $(SIMDEV_COMMAND) ## find each historic bug (ACCEPT=1: write the table)
	$(WITH_LIBRARIES) ZEROPROOF=$(COMMAND) python3 -B conformance/judge/mutants.py --jobs $(JOBS) \
	  $(if $(ACCEPT),--seed 1 --out conformance/mutants.json,--seed $(CONFORMANCE_SEED))
	$(WITH_LIBRARIES) ZEROPROOF=$(COMMAND) \
	  python3 -B conformance/judge/mutants.py --jobs $(JOBS) --distinct

.PHONY: memory-bench
memory-bench: ## measure the peak memory of every command after 1,000 and 10,000 steps or cases
	@$(call need,$(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) all unit
	@ZP_BUILD=$(BUILD) python3 -B tests/ref/cli/memory_flat.py --figures

# ---- Installing ----------------------------------------------------------------------------------

dest = $(DESTDIR)$(PREFIX)

.PHONY: install
install: all lib $(BUILD)/zeroproof.1 ## install under PREFIX (and DESTDIR)
	install -d $(dest)/bin $(dest)/lib/pkgconfig $(dest)/include/zeroproof \
	  $(dest)/share/man/man1
	install -m 755 $(COMMAND) $(dest)/bin/zeroproof
	install -m 644 $(STATIC) $(MPI_STATIC) $(dest)/lib
	install -m 755 $(SHARED) $(MPI_SHARED) $(dest)/lib
	for l in libzeroproof libzeroproof_mpi; do \
	  ln -sf $$l.so.$(VERSION) $(dest)/lib/$$l.so.$(SONAME) || exit 1; \
	  ln -sf $$l.so.$(SONAME) $(dest)/lib/$$l.so || exit 1; done
	for h in $(HEADERS); do install -D -m 644 $$h $(dest)/include/zeroproof/$$h || exit 1; done
	printf '#include "zeroproof/ref/zeroproof.h"\n' > $(dest)/include/zeroproof.h
	chmod 644 $(dest)/include/zeroproof.h
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include' '' \
	  'Name: zeroproof' 'Description: ZeRO training steps as programs' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lzeroproof' \
	  'Libs.private: -ljansson -lxxhash -lm -pthread' > $(dest)/lib/pkgconfig/zeroproof.pc
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' '' 'Name: zeroproof-mpi' \
	  'Description: the training engine of zeroproof, on the CPU over Open MPI' \
	  'Version: $(VERSION)' 'Requires: zeroproof' 'Requires.private: ompi-c' \
	  'Libs: -L$${libdir} -lzeroproof_mpi' > $(dest)/lib/pkgconfig/zeroproof-mpi.pc
	chmod 644 $(dest)/lib/pkgconfig/zeroproof.pc $(dest)/lib/pkgconfig/zeroproof-mpi.pc
	install -m 644 $(BUILD)/zeroproof.1 $(dest)/share/man/man1/zeroproof.1
	@$(MAKE) --no-print-directory install-suite

.PHONY: install-suite
install-suite: # the files of `zeroproof check` alone, as in the wheel
	for f in $(wildcard spec/*.md) $(CONFORMANCE_FILES); do \
	  install -D -m 644 $$f $(dest)/share/zeroproof/$$f || exit 1; done
	for f in $(CONFORMANCE_PROGRAMS); do \
	  install -D -m 755 $$f $(dest)/share/zeroproof/$$f || exit 1; done

.PHONY: wheel
wheel: ## build the wheels of the Python package in build/wheel/dist (ARCH=x86_64 for one)
	@$(call need,make python3 python3-venv)
	@JOBS='$(JOBS)' sh python/wheel.sh $(BUILD) $(VERSION) $(ARCH)

.PHONY: uninstall
uninstall: ## remove what install put there
	rm -f $(dest)/bin/zeroproof $(dest)/lib/libzeroproof.a $(dest)/lib/libzeroproof.so* \
	  $(dest)/lib/libzeroproof_mpi.* $(dest)/lib/pkgconfig/zeroproof.pc \
	  $(dest)/lib/pkgconfig/zeroproof-mpi.pc $(dest)/lib/libzeroproof_cuda.* \
	  $(dest)/lib/pkgconfig/zeroproof-cuda.pc $(dest)/share/man/man1/zeroproof.1 \
	  $(dest)/include/zeroproof.h
	rm -rf $(dest)/include/zeroproof $(dest)/share/zeroproof

.PHONY: clean
clean: ## remove everything that was built
	rm -rf build build-san build-debug

.PHONY: help
help: ## print this list
	@awk 'FNR == 1 { group = FILENAME == "Makefile" ? "" : \
	    FILENAME ~ /lint/ ? "Lint" : FILENAME ~ /hosts/ ? "Several hosts" : "CUDA and recorders" } \
	  FILENAME == "Makefile" && /^# ---- / { \
	    group = $$0; sub(/^# ---- */, "", group); sub(/ *-*$$/, "", group) } \
	  /^[a-z][a-z%-]*:.*## / { \
	    if (group != shown) { print (shown == "" ? "" : "\n") group; shown = group } \
	    target = $$0; sub(/:.*/, "", target); text = $$0; sub(/.*## /, "", text); \
	    printf "  %-22s %s\n", target, text }' \
	  Makefile cuda/*.mk cuda/*/*.mk conformance/*/*.mk tests/*/*.mk

# What was compiled is compiled again when a header of it changes.
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
