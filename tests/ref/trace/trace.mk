# Measurements of `trace check`: its speed, and the causes that it names.
.PHONY: trace-bench
trace-bench: ## measure `trace check`: rate, memory (RANKS=1000, tens; RECORDS=100000; DIR=…)
	@$(call need,$(PACKAGES_RUN) python3)
	@$(MAKE) --no-print-directory -j$(JOBS) all $(BUILD)/tests/drivers/trace/trace_gen_driver
	@ZP_BUILD=$(BUILD) SAN=$(SAN) python3 -B tests/bench/trace_bench.py \
	  $(if $(RANKS),--ranks $(RANKS)) $(if $(RECORDS),--records $(RECORDS)) $(if $(DIR),--dir '$(DIR)')
	@ZP_BUILD=$(BUILD) python3 -B tests/bench/trace_shapes.py

.PHONY: trace-cause
trace-cause: ## score the causes that `trace check` names (SEEDS=A-B of 2 to 6 ranks; LARGE, EQUAL)
	@$(call need,$(PACKAGES_RUN) python3)
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@ZP_BUILD=$(BUILD) python3 -B tests/ref/trace/cause_score.py --seeds \
	  $(or $(SEEDS),12000000-12000999) --large $(or $(LARGE),12500000-12500499) \
	  --equal $(or $(EQUAL),13000000-13000399) >$(BUILD)/causes.md; \
	  status=$$?; $(if $(SEEDS)$(LARGE)$(EQUAL),cat,python3 -B tests/runner/runs.py causes) \
	    <$(BUILD)/causes.md && exit $$status
