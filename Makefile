# make compare   measure the allocators found here, write out/compare/report.html
# make test      run every check that CI runs
# make build     what both need: leaves .venv/bin/heaplab
# make quick     the fast checks alone, for work on heaplab itself

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: build compare test quick clean

compare: build
	tools/install_packages.sh tools/packages-compare.txt
	$(BIN)/heaplab compare -o out/compare

build: $(VENV)/installed
	$(BIN)/pip install -q --no-build-isolation --no-deps .

$(VENV)/installed: pyproject.toml tools/packages-build.txt
	mkdir -p build
	tools/install_packages.sh tools/packages-build.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check $$($(PYTHON) tools/requirements.py pyproject.toml)
	touch $@

test: build
	tools/check.sh all

quick: build
	tools/check.sh quick

clean:
	rm -rf build out
