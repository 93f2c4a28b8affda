#!/bin/sh
# The pages with a real server and a real run: see check_dashboard.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_dashboard.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
