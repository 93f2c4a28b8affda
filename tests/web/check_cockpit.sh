#!/bin/sh
# The step graph as a cockpit, over a real run that overflows: see check_cockpit.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_cockpit.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
