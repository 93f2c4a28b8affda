#!/bin/sh
# The alerts of a run in the browser: see check_alerts.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_alerts.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
