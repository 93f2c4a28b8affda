#!/bin/sh
# The pages' sources pass the TypeScript compiler and the format check, and the client generated
# from the API's description has a function for every operation and a type for every schema. What
# both programs found right before is kept beside the packages, by the contents of the files.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
skip() {
    echo "skipped: $*"
    exit 77
}
node=${NODE:-$(command -v node || :)} npm=${NPM:-$(command -v npm || :)}
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
[ -n "$node" ] && [ -n "$npm" ] || skip 'node and npm are missing'

# A copy: the sources may be read-only, and the compiler looks for packages above its files.
work=$top_builddir/web_types
mkdir -p "$work"
work=$(cd "$work" && pwd)
rm -rf "$work/src" "$work/tools"
cp -R "$top_srcdir/web/src" "$top_srcdir/web/tools" "$top_srcdir/web/tsconfig.json" \
    "$top_srcdir/web/package.json" "$work/"
chmod -R u+w "$work/src" "$work/tools"
if ! cmp -s "$top_srcdir/web/package-lock.json" "$work/package-lock.json"; then
    cp "$top_srcdir/web/package-lock.json" "$work/package-lock.json"
    (cd "$work" && "$npm" ci --ignore-scripts --no-audit --no-fund --prefer-offline \
        >npm.log 2>&1) || {
        rm -f "$work/package-lock.json"
        skip "npm ci failed, see $work/npm.log"
    }
fi
"$node" "$work/tools/client.mjs" "$top_builddir/dashboard/openapi.json" "$work/generated/client.ts"
"$node" "$work/tools/pages.mjs" "$work/generated/pages.ts"
operations=$(grep -c '"operationId"' "$top_builddir/dashboard/openapi.json")
functions=$(grep -cE '^  [a-zA-Z]+: \(parameters' "$work/generated/client.ts")
[ "$operations" = "$functions" ] || {
    echo "$operations operations, $functions functions in the client"
    exit 1
}
prettier="$work/node_modules/.bin/prettier --check --log-level warn"
prettier="$prettier --cache --cache-strategy content --cache-location $work/layout_checked"
(cd "$top_srcdir" && $prettier --config web/.prettierrc.json 'web/src/**/*.{ts,tsx,css}' \
    'web/tools/*.mjs' 'tests/web/*.mjs') || {
    echo 'the layout of these files is not what prettier makes (npx prettier --write FILE in web/)'
    exit 1
}
cd "$work"
timeout 120 "$node" node_modules/typescript/bin/tsc --noEmit --incremental \
    --tsBuildInfoFile "$work/types_checked"
echo "$functions operations, types hold"
