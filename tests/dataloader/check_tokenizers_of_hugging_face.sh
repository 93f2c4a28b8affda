#!/bin/sh
# Tokenizers of many kinds on random and nasty texts, 10,000 of each: numbers, places and texts are
# those of Hugging Face's tokenizers and of SentencePiece, for pairs as well; so are those of
# tokenizers that are put together at random. Skipped where no Python has these.
set -eu
. "${top_srcdir:-.}/tests/python/package.sh"
python=$(python_with 'tokenizers, sentencepiece') ||
    skip 'no Python has tokenizers and sentencepiece; CSE_TORCH_PYTHON names one'
mkdir "$work/kinds"
script=$tree/tests/dataloader/tokenizers_of_hugging_face.py
"$python" -B "$script" make "$work/kinds" "${CSE_TOKENIZER_TEXTS:-10000}"
CSE_TOKENIZERS=$work/kinds "$build/tests/dataloader/check_tokenizer_kinds"
"$python" -B "$script" compare "$work/kinds"
mkdir "$work/random"
script=$tree/tests/dataloader/tokenizers_at_random.py
"$python" -B "$script" make "$work/random" "${CSE_RANDOM_TOKENIZERS:-1000}" 8 "${CSE_SEED:-1}"
CSE_TOKENIZERS=$work/random "$build/tests/dataloader/check_tokenizer_kinds"
"$python" -B "$script" compare "$work/random"
