# On a fresh machine: `make demo`, `make test`. Needs Python 3.11 or newer with venv:
#     apt-get install -y python3 python3-venv make
# `make PYTHON=/path/to/python3.12 test` takes another Python than the first that fits.

.NOTPARALLEL:
.PHONY: help demo test lint fit validation fuzz bench docs clean core-env test-env lint-env

NODE = examples/dgx-h100-topo-m.txt
LAYERS = fast real corpus
EXAMPLES = 5000
RECORDS = ../shared/validation/collectives.json
RUNS = ../shared/validation/training.json
# --accept: today's errors become the baseline that later ones are held against.
ACCEPT =

help:
	@echo "make demo        read an 8-GPU node and forecast its all-reduce on 1, 2 and 16 of them"
	@echo "make test        all tests; LAYERS=fast for one of: $(LAYERS)"
	@echo "make lint        ruff, mypy, import-linter"
	@echo "make validation  forecasts beside published measurements: docs/*validation.md, docs/doctor.md"
	@echo "make fit         parameters and bands anew from published measurements"
	@echo "make fuzz        property tests with EXAMPLES=$(EXAMPLES) random cases each"
	@echo "make bench       times and memory of whole commands beside their targets"
	@echo "make docs        rewrite what README and docs show of today's numbers"
	@echo "make clean       remove the environments and caches"

demo: core-env
	.venv/bin/wirespeed topo $(NODE)
	.venv/bin/wirespeed collective all_reduce --on $(NODE) --nodes 1,2,16

test: test-env
	@.venv/bin/python tools/run_tests.py $(LAYERS)

lint: lint-env
	.venv-lint/bin/ruff check .
	.venv-lint/bin/ruff format --check .
	.venv-lint/bin/mypy
	.venv-lint/bin/lint-imports

validation: core-env
	.venv/bin/python tools/generate_validation_docs.py $(RECORDS) $(ACCEPT)
	.venv/bin/python tools/generate_training_validation.py $(RUNS) $(ACCEPT)
	.venv/bin/python tools/generate_doctor_docs.py $(RECORDS)

fit: core-env
	.venv/bin/python tools/fit.py $(RECORDS)

fuzz: test-env
	WIRESPEED_FUZZ_EXAMPLES=$(EXAMPLES) .venv/bin/python -m pytest -m hypothesis -n 2

bench: core-env
	.venv/bin/python benchmarks/run.py

docs: core-env
	.venv/bin/python tools/generate_hardware_docs.py
	.venv/bin/python tools/generate_expected.py
	.venv/bin/python tools/generate_worked_examples.py
	.venv/bin/python tools/docs.py

clean:
	rm -rf .venv .venv-lint build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests benchmarks tools -name __pycache__ -type d -prune -exec rm -rf {} +

# Each makes an environment whole or leaves none; nothing happens where it is there already.
core-env test-env lint-env: %-env:
	@python=$$(PYTHON="$(PYTHON)" sh tools/find-python.sh) || exit 2; \
	exec "$$python" tools/environment.py $(if $(filter lint,$*),.venv-lint,.venv) $*
