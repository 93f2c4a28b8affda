#!/bin/sh
# The command palette in the browser: see check_palette.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
timeout 300 "$node" "$top_srcdir/tests/web/check_palette.mjs" "$dist" "$shots" \
    "$top_builddir/web_build/node_modules"
