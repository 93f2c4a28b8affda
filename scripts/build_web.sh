#!/bin/sh
# Builds the dashboard's pages into a C file, or, where that cannot be, the table of a build without
# pages: they need Node.js, and once the network, which a training engine must not depend on.
#
# Usage: build_web.sh auto|yes|no NPM NODE WEB_SOURCES OPENAPI WORK_DIRECTORY OUT.c
set -eu
mode=$1 npm=$2 node=$3 web=$4 openapi=$5 work=$6 out=$7

without_pages() { # why
    [ "$mode" != yes ] || {
        echo "build_web.sh: error: $1" >&2
        exit 1
    }
    [ "$mode" = no ] || echo "build_web.sh: the dashboard will have no pages: $1" >&2
    cat >"$out.new" <<'END'
/* Written by scripts/build_web.sh: no pages were built. */
#include "dashboard/web_files.h"

const cse_web_file cse_web_files[] = {
    { .path = NULL },
};
END
    mv "$out.new" "$out"
    exit 0
}

mkdir -p "$(dirname "$out")" "$work"
[ "$mode" != no ] || without_pages 'configured with --without-web'
[ -n "$npm" ] && [ -n "$node" ] ||
    without_pages 'Node.js 18 or newer and npm are missing: install nodejs and npm'

# Packages are fetched again only when the lock file changed.
lock=$web/package-lock.json
if ! cmp -s "$lock" "$work/package-lock.json" || [ ! -d "$work/node_modules" ]; then
    cp "$web/package.json" "$work/package.json"
    rm -f "$work/package-lock.json"
    cp "$lock" "$work/lock.new"
    mv "$work/lock.new" "$work/package-lock.json"
    (cd "$work" && "$npm" ci --omit=dev --ignore-scripts --no-audit --no-fund --prefer-offline \
        >npm.log 2>&1) || {
        rm -f "$work/package-lock.json"
        without_pages "npm ci failed (its output: $work/npm.log); then: make web"
    }
fi
"$node" "$web/tools/build.mjs" --modules "$work/node_modules" --out "$work/dist" \
    --openapi "$openapi" --c "$out.new" >"$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    without_pages "the bundle could not be built (see above); then: make web"
}
mv "$out.new" "$out"
