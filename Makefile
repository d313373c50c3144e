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
	@test -e fuzz/Cargo.toml || { echo "make fuzz: there are no fuzz targets (fuzz/Cargo.toml)" >&2; exit 1; }
	@cargo fuzz --version >/dev/null 2>&1 \
		|| { echo "make fuzz: cargo-fuzz is missing: cargo install cargo-fuzz" >&2; exit 1; }
	@cargo +nightly --version >/dev/null 2>&1 \
		|| { echo "make fuzz: the sanitizers need a nightly toolchain: rustup toolchain install nightly" >&2; exit 1; }
	@for target in $$(cargo +nightly fuzz list); do \
		echo "== $$target"; \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	done
