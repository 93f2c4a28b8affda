#!/bin/sh
# Makes the pictures of docs/dashboard.md anew, of the pages of this build over made-up jobs:
# all of them, or those that are named (experiments, phone_curves, ...; tests/web/pictures.mjs).
#
# Usage: top_builddir=BUILD scripts/dashboard_pictures.sh [NAME...]
set -eu
top_srcdir=$(cd "$(dirname "$0")/.." && pwd)
. "$top_srcdir/tests/web/prepare.sh"
exec "$node" "$top_srcdir/tests/web/pictures.mjs" "$dist" "$top_srcdir/docs" "$@"
