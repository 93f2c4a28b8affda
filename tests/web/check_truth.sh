#!/bin/sh
# What the pages say of a job against what the API says of it: see check_truth.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_truth.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
