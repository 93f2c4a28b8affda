#!/bin/sh
# Behaviour and speed of the pages with synthetic jobs: see check_behaviour.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 600 "$node" "$top_srcdir/tests/web/check_behaviour.mjs" "$dist" "$shots"
