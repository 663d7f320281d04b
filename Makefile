# psitext from a fresh clone: needs make and Python 3.11 or newer (with its venv module), and nothing else.
# Another interpreter: make PYTHON=python3.12 test. More arguments for pytest: make test ARGS="-k nsp -x".

PYTHON ?= python3
JOBS ?= 2
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
# The stamp is named by what was installed: it is there exactly while these two files say what they said then.
STAMP := $(VENV)/.installed-$(shell cat pyproject.toml constraints.txt | cksum | cut -d' ' -f1)
EXTRAS := hf,data,report,track,qnlp,quantum,mitigation,tensor,text,web,onnx,docs,dev

.DEFAULT_GOAL := help
.PHONY: help setup demo models test lint types docs docs-check bench clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

setup: $(STAMP) ## create .venv with the exact versions of constraints.txt (a few minutes, once)

$(STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "psitext needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3.11 setup" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --constraint constraints.txt hatchling editables
	$(BIN)/python -m pip install --constraint constraints.txt --no-build-isolation --editable '.[$(EXTRAS)]'
	@rm -f $(VENV)/.installed-*
	@touch $@

demo: $(STAMP) ## show the four models that come with psitext, on generated text; prints where the report is
	$(BIN)/psitext demo

models: $(STAMP) ## train what is missing of the models that ship (two hours of one core), pack and describe all
	$(BIN)/python -m psitext.experiments.shipping $(ARGS)

test: $(STAMP) ## run the tests (those on real data too where PSITEXT_DATA names its folder)
	$(BIN)/pytest -n $(JOBS) $(ARGS)

lint: $(STAMP) ## check style with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP) ## check types with mypy
	$(BIN)/mypy

docs: $(STAMP) ## build the site of the docs, docs/_build/html; any warning fails
	SOURCE_DATE_EPOCH=0 $(BIN)/python -m sphinx --builder html -W --keep-going --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

docs-check: $(STAMP) ## check the links, paths, code and dependency list of the pages
	$(BIN)/pytest tests/test_docs.py

bench: $(STAMP) ## measure every speed ratio of the docs on this machine
	$(BIN)/psitext bench

clean: ## remove .venv, caches and build products; runs/ stays
	rm -rf $(VENV) build dist docs/_build docs/api/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
