#!/bin/sh
# The marks on the curves in the browser: see check_marks.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
timeout 600 "$node" "$top_srcdir/tests/web/check_marks.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory" "$top_builddir/web_build/node_modules"
