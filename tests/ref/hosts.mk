# Jobs on three hosts, made of namespaces: tests/ref/comm/hosts. Included by the Makefile.

.PHONY: hosts
hosts: ## run jobs on three hosts with faults (N=300, SEED=1, JOBS; root; ACCEPT=1: write the table)
	@$(call need,$(PACKAGES_TEST))
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(WITH_LIBRARIES) ZP_BUILD=$(BUILD) python3 -B tests/ref/comm/hosts/run.py \
	  --cases $(if $(filter-out 0,$(N)),$(N),300) --seed $(or $(SEED),1) \
	  --jobs $(shell expr 2 '*' $(JOBS)) \
	  --table $(BUILD)/hosts.md; status=$$?; \
	$(if $(ACCEPT),python3 -B tests/runner/runs.py hosts,cat) <$(BUILD)/hosts.md && \
	exit $$status
