# The tasks of this repository. `make help` lists them.

GO       ?= go
LINT     := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
FUZZTIME ?= 5s
# Tests that take several seconds do all of their work only with it (internal/torture).
LONG := SHEAF_TEST_LONG=1
# The tests of the examples have this build tag: linking each program takes longer than its test.
LONGTAG := long
# How long each attack of `make torture` goes on, and the seed of a run to repeat.
# TORTURE='-run TestKill' selects attacks.
TORTURETIME ?= 1m
SEED ?= 0
TORTURE ?=
# How many random commands `make torture` gives.
COMMANDS ?= 1000000
# The packages whose tests attack the guarantees of docs/guarantees.md.
ATTACKS := ./internal/storage/pebble ./internal/crashtest ./internal/concurrencytest ./internal/table ./internal/metamorphic
# PLATFORMS are built for a release. `make cross` compiles CROSS: each system and each processor
# once, except this machine's own. `make cross CROSS='$(PLATFORMS)'` compiles all.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
CROSS ?= darwin/arm64 windows/amd64
# The packages whose code runs in several goroutines are tested again under the race detector.
RACE_DIRS := internal/storage internal/clock internal/arrival internal/changelog internal/table internal/exec internal/schema internal/catalog internal/session internal/server internal/concurrencytest sheaftest sim/load sim/engine sim/agent
# The tests of the package pipeline in which several goroutines run. The other tests do not need the
# race detector, and would take minutes under it.
RACE_PIPELINE := ^TestParallel
PATTERNS ?= ./patterns/...
# The tests of the patterns in which several clients work at the same time.
RACE_PATTERNS := Together|Concurrent|Model|One|Once|Stampede|Worker|Everyone|Moats|Moving|Run
# Modules of their own, so that what only tests need stays out of the main go.mod.
NESTED := conformance bench

# go test fails if one of the folders does not exist.
RACE_PKGS = $(addsuffix /...,$(addprefix ./,$(RACE_DIRS)))

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/sheaf
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o bin/sheaf ./cmd/sheaf

.PHONY: sizes
sizes: ## fail if the server or an embedding program has grown above its limit (docs/performance.md)
	$(GO) run ./tools/sizes

.PHONY: cross
cross: ## compile for other platforms (CROSS)
	@for p in $(CROSS); do \
		echo "cross $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./... || exit 1; \
	done

.PHONY: test
test: ## run the tests of the main module, those that take long in a shorter form or not at all
	$(GO) test ./...

.PHONY: test-long
test-long: ## run all of them, and all that they do
	$(LONG) $(GO) test -tags $(LONGTAG) ./...

.PHONY: test-race
test-race: ## run the concurrent packages' tests in short form under the race detector
	$(LONG) $(GO) test -race -short $(RACE_PKGS)
	@out=$$($(LONG) $(GO) test -race -short -run '$(RACE_PIPELINE)' ./internal/pipeline 2>&1); status=$$?; echo "$$out"; \
	case "$$out" in *"no tests to run"*) exit 1 ;; esac; exit $$status

.PHONY: race-patterns
race-patterns: ## run the patterns' tests of concurrency under the race detector
	$(LONG) $(GO) test -race -short -run '$(RACE_PATTERNS)' -skip Crash $(PATTERNS)

# -composites=false: `go vet` would refuse bson.D{{"a", 1}}, the short form of the driver's own
# documentation.
.PHONY: lint
lint: ## check the code: golangci-lint as configured in .golangci.yml, and the tools imports, unused, knots and words
	$(LINT) run ./...
	$(GO) run ./tools/imports
	$(GO) run ./tools/unused # 3 s of processor time where the packages are compiled already
	$(GO) run ./tools/knots -check >/dev/null # prints the limit that is exceeded on stderr
	$(GO) run ./tools/words
	@for m in $(NESTED); do \
		echo "lint $$m"; (cd $$m && $(GO) vet -composites=false ./...) || exit 1; \
	done

.PHONY: commits
commits: ## check the messages of new commits
	$(GO) run ./tools/commits

.PHONY: fmt
fmt: ## format the code: gofumpt and gci
	$(LINT) fmt

.PHONY: fmt-check
fmt-check: ## fail if `make fmt` would change something
	$(LINT) fmt --diff

.PHONY: generate
generate: ## write the generated files: docs/compatibility.md, patterns/documents.svg
	$(GO) generate ./...

.PHONY: generate-check
generate-check: generate ## fail if a generated file is out of date
	git diff --exit-code -- docs/compatibility.md patterns/documents.svg

.PHONY: bench
bench: ## measure Sheaf beside its floors and, where it is installed, PostgreSQL (bench/README.md)
	cd bench && $(GO) run . $(BENCHFLAGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (5s)
	@files=$$(git grep -lE '^func Fuzz[A-Z]' -- '*_test.go') || { echo "fuzz: there are no fuzz targets" >&2; exit 1; }; \
	for file in $$files; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' "$$file"); do \
			echo "fuzz $$(dirname "$$file") $$target"; \
			log=$$($(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "./$$(dirname "$$file")" </dev/null 2>&1); \
			status=$$?; \
			echo "$$log"; \
			case "$$status $$log" in \
			"0 "*"fuzz: elapsed"*) ;; \
			"0 "*) echo "fuzz: no build contains $$target" >&2; exit 1 ;; \
			*"Failing input"*) exit 1 ;; \
			*"context deadline exceeded"*) echo "not a failure: the fuzzer's time was up in the middle of an input" ;; \
			*) exit 1 ;; \
			esac; \
		done; \
	done

# The benchmarks of hot paths: what a change of the whole tree must not make slower.
HOT_COMMANDS := FindByID|FindByIndex|UpdateInc|Insert|range100|in50|compoundSortLimit20|covered100|countIndexed1000|sortUnindexedLimit10|skipLimit|Alone
COUNT := 1

.PHONY: hot
hot: ## run the 20 benchmarks of hot paths COUNT times each; compare two builds by paired runs and benchstat
	$(GO) test -run '^$$' -benchmem -count $(COUNT) -bench '^Benchmark(HotPath|Queries|Transactions)$$/^($(HOT_COMMANDS))$$' ./internal/command
	$(GO) test -run '^$$' -benchmem -count $(COUNT) -bench '^Benchmark(HandlePing|InsertMany)$$' ./internal/command
	$(GO) test -run '^$$' -benchmem -count $(COUNT) -bench '^Benchmark(Conjunction|ApplyBuffer|AddFields|Group|TopK|SortKey)$$' \
		./internal/filter ./internal/update ./internal/expr ./internal/pipeline ./internal/index

.PHONY: torture
torture: ## attack the guarantees of docs/guarantees.md for TORTURETIME (1m) each, with SEED to repeat a run
	$(GO) test -p 1 -count 1 -timeout 0 -v $(ATTACKS) -torture.time=$(TORTURETIME) -torture.seed=$(SEED) $(TORTURE)
	$(GO) test -count 1 -timeout 0 -v ./internal/oplog/oplogtest -rapid.checks=1000 $(TORTURE)
	$(GO) test -count 1 -timeout 0 -v ./internal/metamorphic -run TestCommands -metamorphic.commands=$(COMMANDS) -torture.seed=$(SEED) $(TORTURE)
	$(LONG) $(GO) test -count 1 -timeout 0 -v ./internal/adversarial -adversarial.long $(TORTURE)
	$(LONG) $(GO) test -count 1 -timeout 0 -v ./internal/js/engine -run 'TestBuiltins|TestDeepChains' -js.builtins $(TORTURE)

.PHONY: bounds
bounds: ## measure a server's memory under attacks and workloads, shortly; `make torture` does so at length
	$(GO) test -count 1 -timeout 10m ./internal/adversarial -adversarial.memory -run 'TestAttacksTogether|TestMemoryOfWorkloads|TestMemoryOfLargeCommands|TestMemoryOfLargeDocuments|TestMemoryOfAStoreInMemory|TestCursorsAreCounted' -v

.PHONY: crashpoints
crashpoints: ## stop the patterns' operations at every point, and count those; on SHEAF_TEST_URI if set
	@{ $(GO) test -v -run Crash -count 1 -timeout 15m -parallel 16 $(PATTERNS); echo "exit $$?"; } | awk -f patterns/patterntest/points.awk

.PHONY: conformance
conformance: build ## run the drivers' suites, mongosh and Mongoose against bin/sheaf (conformance/README.md)
	cd conformance && SHEAF_BIN=$(CURDIR)/bin/sheaf $(GO) test -p 1 -count=1 -timeout 30m -v ./...

.PHONY: ci
ci: build commits sizes fmt-check lint cross test-long test-race race-patterns fuzz generate-check ## everything that a change must pass
