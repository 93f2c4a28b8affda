#!/bin/sh
# `csengine top` on a terminal: what it shows of jobs and of a run, its keys, sizes, and that the
# terminal is given back after every end; without a terminal it refuses, or prints one frame.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$top/tests/cli/top_test.py" "$csengine" "$top/configs/synthetic.yaml" "$work"
