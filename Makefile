# Short names for the things a developer does; the scripts behind them say more.
.PHONY: help test bench fuzz

# Seconds for each fuzz target.
FUZZ_SECONDS ?= 60

help:
	@echo "make test   format, lints, all tests on both databases (./test)"
	@echo "make bench  our speed beside its yardsticks; BENCH=\"storage --quick\" chooses"
	@echo "make fuzz   every fuzz target for FUZZ_SECONDS ($(FUZZ_SECONDS)) seconds"

test:
	./test

bench:
	cargo bench --locked --bench speed -- $(BENCH)

fuzz:
	FUZZ_SECONDS=$(FUZZ_SECONDS) fuzz/run
