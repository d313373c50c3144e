# Short names for the things a developer does; the scripts behind them say more.
.PHONY: help test bench fuzz torture

# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60
# Hours of torture on each database, and a seed to repeat a run with.
HOURS ?= 1
SEED ?=

help:
	@echo "make test   format, lints, all tests on both databases (./test)"
	@echo "make bench  our speed beside its yardsticks; BENCH=\"storage --quick\" chooses"
	@echo "make fuzz   every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS)) seconds"
	@echo "make torture HOURS=n   random faults for n hours on each database; SEED=n repeats a run"

test:
	./test

bench:
	cargo bench --locked --bench speed -- $(BENCH)

fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) fuzz/run

torture:
	TILLBELL_TORTURE_SECONDS=$$(($(HOURS) * 3600)) TILLBELL_TORTURE_SEED=$(SEED) ./test torture --profile torture --no-capture
