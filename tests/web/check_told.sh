#!/bin/sh
# What the pages say of ended, copied, resumed and cut runs: see check_told.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# shellcheck disable=SC2086 # names of cases, for a run by hand
timeout 600 "$node" "$top_srcdir/tests/web/check_told.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory" ${CSE_TOLD_CASES:-}
