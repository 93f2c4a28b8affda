#!/bin/sh
# What the pages know of a job, from its answers and events in any order: see check_state.mjs.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
node=${NODE:-$(command -v node || :)}
skip() {
    echo "skipped: $*"
    exit 77
}
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
[ -n "$node" ] || skip 'node is missing'
modules=$top_builddir/web_build/node_modules
NODE=$node NPM=${NPM:-$(command -v npm || :)} sh "$top_srcdir/scripts/build_web.sh" modules \
    "$top_srcdir/web" "$top_builddir/web_build" || skip 'npm ci failed'
modules=$(cd "$modules" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$node" "$modules/esbuild/bin/esbuild" "$top_srcdir/web/src/job/state.ts" --format=esm \
    --outfile="$directory/state.mjs" --log-level=warning
"$node" "$top_srcdir/tests/web/check_state.mjs" "$directory/state.mjs"
