# make compare     measure the allocators found here, write out/compare/report.html
# make test        run every check that CI runs
# make test-long   the same, and the checks that take long: the public headers under every compiler of Debian,
#                  the heaps with every assertion on, AArch64 with pages of 4, 16 and 64 KiB under qemu,
#                  instruction counters in an emulated machine, README's commands in a bare Debian root
# make build       what all need: leaves .venv/bin/heaplab
# make wheel       out/wheel/*.whl: what people install without a compiler, for x86_64 and aarch64 (MACHINES=x86_64: one)
# make site        out/site/index.html: every page and the reference, to be opened from a file
# make release     wheels twice, source archive, checksums in out/release, and the wheels' tests in bare roots
# make quick       the checks that take seconds, on the tree as it stands: nothing is installed
# make dev         configures build/dev and leaves compile_commands.json for editors
# OPTIONS="--budget 9m" make compare      with options of heaplab compare

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STEP := tools/step.sh
PACKAGES := tools/install_packages.sh tools/packages-build.txt tools/packages-compare.txt
# pip takes half a minute less if each package is compiled when it is first imported, where Python may write that down.
COMPILE_LATER := $(if $(PYTHONDONTWRITEBYTECODE),,--no-compile)
NETWORK := look whether pip reaches its index (network, PIP_INDEX_URL, PIP_FIND_LINKS), then run make again

ifneq (,$(findstring :,$(CURDIR)))
$(error a virtual environment works in no folder with a colon in its path, move the checkout: $(CURDIR))
endif
ifneq (,$(and $(filter test test-long quick,$(MAKECMDGOALS)),$(word 2,$(CURDIR))))
$(error the checks preload libraries from here, which the loader cannot do from a path with a space; \
  make build and make compare work: $(CURDIR))
endif

.NOTPARALLEL:
.PHONY: site wheel release packages-wheel build compare dev test test-long quick clean packages-compare packages-test packages-long

compare: packages-compare build
	@$(BIN)/heaplab compare -o out/compare $(OPTIONS)

build: $(VENV)/installed
	@$(STEP) "building heaplab: three to ten minutes the first time, then seconds" \
	  "read the first error in the log" \
	  $(BIN)/pip install -v --no-build-isolation --no-deps .
	@mkdir -p $(VENV)/share/man/man1 $(VENV)/share/bash-completion/completions
	@$(BIN)/python packaging/manual_page.py >$(VENV)/share/man/man1/heaplab.1
	@_HEAPLAB_COMPLETE=bash_source $(BIN)/heaplab >$(VENV)/share/bash-completion/completions/heaplab

$(VENV)/installed: pyproject.toml tools/requirements.py tools/packages-build.txt
	@tools/install_packages.sh tools/packages-build.txt
	@$(STEP) "virtual environment" "remove $(VENV), then run make again" $(PYTHON) -m venv $(VENV)
	@$(STEP) "Python packages: about 300 MB" "$(NETWORK)" $(BIN)/pip install --disable-pip-version-check \
	  $(COMPILE_LATER) $$($(PYTHON) tools/requirements.py pyproject.toml)
	@touch $@

packages-compare:
	@$(PACKAGES)

packages-test:
	@$(PACKAGES) tools/packages-test.txt

packages-long:
	@$(PACKAGES) tools/packages-test.txt tools/packages-long.txt

test: packages-test build
	@tools/check.sh all

test-long: packages-long build $(VENV)/site-tools
	@tools/check.sh long

quick: $(VENV)/installed
	@tools/check.sh quick

MACHINES ?= x86_64 aarch64
wheel: packages-wheel $(VENV)/wheel-tools
	@for machine in $(MACHINES); do \
	  $(STEP) "wheel for $$machine: ten minutes the first time" "read the first error in the log" \
	    packaging/wheel/build.sh $$machine || exit; \
	done
	@ls out/wheel/*.whl

site: $(VENV)/site-tools
	@$(STEP) "site" "mend what the log names, then run make site again" \
	  env PYTHONPATH=python $(BIN)/python packaging/site/build.py out/site
	@echo "$(CURDIR)/out/site/index.html"

$(VENV)/site-tools: $(VENV)/installed
	@$(STEP) "tools for the site: about 80 MB" "$(NETWORK)" $(BIN)/pip install --disable-pip-version-check \
	  $$($(PYTHON) tools/requirements.py pyproject.toml site)
	@touch $@

release: wheel
	@packaging/release.sh

$(VENV)/wheel-tools: $(VENV)/installed
	@$(STEP) "tools for wheels: about 420 MB" "$(NETWORK)" $(BIN)/pip install --disable-pip-version-check \
	  $$($(PYTHON) tools/requirements.py pyproject.toml wheel)
	@touch $@

packages-wheel:
	@tools/install_packages.sh tools/packages-build.txt tools/packages-wheel.txt

dev: $(VENV)/installed
	@$(STEP) "configuring build/dev" "mend what the log names, then run make again" \
	  sh -euc 'PATH=$(CURDIR)/$(BIN):$$PATH; cmake --preset dev'
	@ln -sf build/dev/compile_commands.json .

clean:
	rm -rf build out
