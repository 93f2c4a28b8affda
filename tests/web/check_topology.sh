#!/bin/sh
# The topology page of runs of several sizes, in several widths, in a real browser: see
# check_topology.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 600 "$node" "$top_srcdir/tests/web/check_topology.mjs" "$dist" "$shots"
