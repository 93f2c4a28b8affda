#!/bin/sh
# The pages Machine and Timeline over a real run: see check_machine.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_machine.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
