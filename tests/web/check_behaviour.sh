#!/bin/sh
# What the pages do and how quick they are, over made-up jobs: see check_behaviour.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 600 "$node" "$top_srcdir/tests/web/check_behaviour.mjs" "$dist" "$shots"
