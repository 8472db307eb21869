# The linter: rules about text, and about objects. Included by the Makefile after all others.

# Headers compile alone: those of libraries, CUDA and Criterion must be there.
PACKAGES_LINT := python3 python3-venv git clang-format shellcheck gcc libc6-dev pkg-config \
                 libjansson-dev libopenmpi-dev libcriterion-dev \
                 $(if $(and $(wildcard $(CUDA_INC)/cuda_runtime_api.h),$\
                   $(wildcard $(NCCL_INC)/nccl.h)),,python3-pip)
LINT = python3 -B tests/lint/lint.py
LINT_CPPFLAGS = $(CUDA_CPPFLAGS) $(shell pkg-config --cflags jansson ompi-c)
LINT_TEXT = --compiler '$(CC)' --cppflags '$(LINT_CPPFLAGS)'

# Objects that no other target makes: everything of ref, cuda and conformance is looked at.
RECORDER_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard conformance/recorder/*.c))
$(RECORDER_OBJ): CPPFLAGS += $(CUDA_CPPFLAGS)
$(RECORDER_OBJ): | $(CUDA_HEADERS)
LINT_OBJ := $(RECORDER_OBJ) $(GPU_OBJ)
LINT_SYMBOLS = --build $(BUILD) --installed '$(HEADERS) cuda/engine/engine.h cuda/norm/norm.h \
                 cuda/binding/simulated.h ref/binding/binding.h cuda/simdev/simdev.h \
                 cuda/simdev/kernel.h'

.PHONY: lint lint-text lint-symbols lint-review hooks
lint: ## lint-text and lint-symbols
	@$(MAKE) --no-print-directory lint-text
	@$(MAKE) --no-print-directory lint-symbols
lint-text: ## check clause ids, words, lengths, formats, and which file includes which
	@$(call need,$(PACKAGES_LINT))
	@$(MAKE) --no-print-directory lint-text-now
lint-symbols: ## build, then check for cycles of calls and unused external names
	@$(call need,$(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) all unit lib lint-objects
	@$(MAKE) --no-print-directory lint-symbols-now
lint-review: ## list words and constructions that a person decides about
	@$(LINT) review
hooks: ## check texts before each commit: git runs tests/lint/hooks/pre-commit
	@git config core.hooksPath tests/lint/hooks
	@echo 'git runs tests/lint/hooks/pre-commit before each commit; to stop that:' \
	  'git config --unset core.hooksPath'

# The checks of `make quick`, which has installed and built everything. LINTED: `make test` has
# checked the texts. Under sanitizers objects refer to other functions.
LINT_NOW = $(if $(LINTED),,lint-text-now) $(if $(filter 1,$(SAN)),lint-objects,lint-symbols-now)
.PHONY: lint-text-now lint-symbols-now lint-objects
lint-text-now: | $(CUDA_HEADERS)
	@$(LINT) text $(LINT_TEXT)
lint-symbols-now:
	@$(LINT) symbols $(LINT_SYMBOLS)
lint-objects: $(LINT_OBJ)
