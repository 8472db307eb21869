# Random kills in one training under zeroproof elastic (elastic_kills.py); make test has 5 of them.
KILLS ?= 50
.PHONY: elastic-kills
elastic-kills: $(BUILD)/zeroproof ## end processes of one training, write tests/RUNS.md
	$(Q)python3 -B tests/ref/cli/elastic_kills.py $(BUILD)/zeroproof $(KILLS) 23 $(BUILD)/kills.md && \
	python3 -B tests/runner/runs.py kills <$(BUILD)/kills.md
