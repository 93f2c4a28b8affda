#!/bin/sh
# Who waits for whom, and figures of hosts, without a browser: see check_waits.mjs.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
skip() {
    echo "skipped: $*"
    exit 77
}
node=${NODE:-$(command -v node || :)}
modules=$top_builddir/web_build/node_modules
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
[ -n "$node" ] || skip 'node is missing'
NODE=$node NPM=${NPM:-$(command -v npm || :)} sh "$top_srcdir/scripts/build_web.sh" modules \
    "$top_srcdir/web" "$top_builddir/web_build" || skip 'npm ci failed'
exec timeout 120 "$node" "$top_srcdir/tests/web/check_waits.mjs" "$modules"
