#!/bin/sh
# Random conversations: tokens, and which of them count, are those of transformers. Skipped where no
# Python has it; what needs none is held by check_chat_template and check_conversations.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'transformers, tokenizers, pyarrow') ||
    skip 'no Python has transformers, tokenizers and pyarrow; CSE_TORCH_PYTHON names one'
export CSENGINE_PYTHON="$python" XDG_CACHE_HOME="$work/cache"
mkdir "$work/model"
"$python" -B "$tree/tests/dataloader/conversations_of_transformers.py" \
    "$build/csengine" "$tree" "$work/model"
