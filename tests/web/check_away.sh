#!/bin/sh
# Pages that were away for an hour, a server that was killed, a thousand jobs: see check_away.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
exec timeout 400 "$node" "$top_srcdir/tests/web/check_away.mjs" "$dist"
