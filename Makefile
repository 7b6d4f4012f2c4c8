.DEFAULT_GOAL := help
.PHONY: help test lint generate bench bench-adaptive demo demo-adaptive build clean deps

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
tool = go tool -modfile='$(CURDIR)/.ci/tools/$(1)/go.mod' $(1)

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: deps ## run every test with the race detector, against the real Envoy too
	@go run ./test/summary -race -shuffle=on ./...

lint: ## check formatting, modules, proto and code; change nothing
	go mod tidy -diff
	$(call tool,golangci-lint) fmt --diff
	cd proto && $(call tool,buf) lint && $(call tool,buf) format --diff --exit-code && $(call tool,buf) breaking --against contract.binpb
	@echo 'comparing the generated files'
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && cd proto && \
		$(call tool,buf) generate -o "$$tmp" && diff -ru -x '*.proto' rls "$$tmp/rls" && \
		$(call tool,buf) build --exclude-source-info -o "$$tmp/contract.binpb" && cmp contract.binpb "$$tmp/contract.binpb"
	$(call tool,golangci-lint) run

# contract.binpb is what callers rely on. What is new is added to it; to break it on purpose, run the last line alone.
generate: ## write the Go code of the .proto files beside them, and add what is new to the contract
	cd proto && $(call tool,buf) breaking --against contract.binpb
	cd proto && $(call tool,buf) generate && $(call tool,buf) build --exclude-source-info -o contract.binpb

bench: ## compare the CPU time of a request with a no-op server's, and measure memory per key
	@go run ./test/bench

bench-adaptive: ## compare adaptive limits with static ones and classic controllers in a simulation
	@go run ./test/adaptive

demo: deps ## send requests through the real Envoy with the example rules
	@go run ./test/demo

demo-adaptive: deps ## let a service become slow behind three limits, for three minutes; SVG=FILE plots it
	@go run ./test/demo-adaptive $(if $(SVG),-svg '$(SVG)')

build: ## build bin/rls
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/rls ./cmd/rls

clean: ## delete what was built, and the installed Envoy
	rm -rf bin .venv

deps: ## install what the tests need (packages as root, Envoy under .venv)
	@.ci/deps
