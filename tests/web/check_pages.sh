#!/bin/sh
# Every page in light and dark, with synthetic jobs, in a real browser: see check_pages.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 600 "$node" "$top_srcdir/tests/web/check_pages.mjs" "$dist" "$shots"
