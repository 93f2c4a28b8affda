#!/bin/sh
# The tensors of past steps in the browser: see check_tensors.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_tensors.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
