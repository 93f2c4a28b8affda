#!/bin/sh
# Random (step, tensor, sample) questions about runs that nobody armed: of a dense network with
# dropout, of pictures, of a language model in bfloat16, on two hosts, with five kills, resumed
# twice. Cases: past_questions_test.py.
set -eu
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top_srcdir=$(realpath "${top_srcdir:?}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TMPDIR=$work/scratch PYTHONDONTWRITEBYTECODE=1
export TMPDIR PYTHONDONTWRITEBYTECODE top_srcdir
mkdir "$TMPDIR"
cd "$work"
"$python" "$top_srcdir/tests/cli/past_questions_test.py" "$csengine"
