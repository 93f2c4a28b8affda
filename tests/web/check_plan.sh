#!/bin/sh
# The page Plan, in a real browser: see check_plan.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 300 "$node" "$top_srcdir/tests/web/check_plan.mjs" "$dist" "$shots"
