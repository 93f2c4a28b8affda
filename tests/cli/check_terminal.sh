#!/bin/sh
# What a run shows on a terminal: the live line at several widths, while the width changes, without
# colour, on a terminal that cannot draw, and with --quiet.
set -u
csengine=$(realpath "${CSENGINE_EXECUTABLE:?}")
top=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$top/tests/cli/terminal_test.py" "$csengine" "$top/configs/synthetic.yaml" "$work"
