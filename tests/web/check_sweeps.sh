#!/bin/sh
# Sweeps in the browser: see check_sweeps.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_sweeps.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
