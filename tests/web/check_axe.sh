#!/bin/sh
# axe, sideways scrolling and the keyboard on every page and dialog: see check_axe.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
manual=$top_srcdir/docs/dashboard.md
exec timeout 900 "$node" "$top_srcdir/tests/web/check_axe.mjs" "$dist" "$manual"
