#!/bin/sh
# docs/python_reference.md is what the stubs and docstrings of python/ say now, and has each public
# class and function of the modules that it names.
set -eu
source=${top_srcdir:-.}
page=$source/docs/python_reference.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
(cd "$source" && "${PYTHON:-python3}" -B scripts/write_python_reference.py python) >"$work/page.md"
if ! diff "$page" "$work/page.md"; then
    echo "FAIL: docs/python_reference.md is old: make python_reference"
    failures=1
fi
for name in $(sed -n 's/^\(def\|class\) \([A-Za-z][A-Za-z0-9_]*\).*/\2/p' \
    "$source/python/cstorch/__init__.pyi" "$source/python/cstorch/amp.pyi" \
    "$source/python/cstorch/optim/__init__.pyi" "$source/python/csengine/runs.pyi"); do
    [ "$name" != curve ] || continue # which runs.py alone uses
    grep -qx "### $name" "$page" || { echo "FAIL: $name is missing"; failures=1; }
done
count=$(grep -c '^### ' "$page")
[ "$count" -ge 120 ] || { echo "FAIL: only $count names"; failures=1; }
[ "$failures" = 0 ] && echo "$count names"
