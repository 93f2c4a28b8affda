#!/bin/sh
# web/pages.tar is what Node.js makes of the present sources, byte for byte: a build without Node.js
# shows the pages that are in the tree, and nothing else.
set -eu
top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
skip() {
    echo "skipped: $*"
    exit 77
}
NODE=${NODE:-$(command -v node || :)} NPM=${NPM:-$(command -v npm || :)}
export NODE NPM
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
build_web="$top_srcdir/scripts/build_web.sh"
web=$(cd "$top_srcdir/web" && pwd)
openapi=$(cd "$top_builddir/dashboard" && pwd)/openapi.json
fail() {
    echo "FAILED: $*"
    exit 1
}

sh "$build_web" verify "$web" "$openapi" || fail 'see above'

# A changed source, or a damaged artefact, is noticed without Node.js.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$web" "$work/web"
chmod -R u+w "$work/web"
verify_copy() { sh "$build_web" verify "$work/web" "$openapi" 2>/dev/null; }
verify_copy || fail 'a copy of the sources has another digest'
echo '/* */' >>"$work/web/src/main.tsx"
! verify_copy || fail 'a changed source was not noticed'
cp "$web/src/main.tsx" "$work/web/src/main.tsx"
echo >"$work/web/src/new.ts"
! verify_copy || fail 'a new source was not noticed'
rm "$work/web/src/new.ts"
echo >"$work/web/pages.tar"
! verify_copy || fail 'an artefact that is no archive was accepted'

# Without Node.js: pages from the artefact; where it is out of date, none or an error, as asked for.
table() { NODE='' NPM='' sh "$build_web" table "$1" "$2" "$openapi" "$work/build" "$work/$3"; }
table yes "$web" from_artefact.c || fail 'no pages from the artefact'
grep -q '"/report.html"' "$work/from_artefact.c" || fail 'the table lacks the report'
table auto "$work/web" none.c 2>"$work/warning" || fail 'a build without pages failed'
grep -q 'Node.js 18' "$work/warning" || fail "no word of the reason: $(cat "$work/warning")"
! grep -q 'blob_0' "$work/none.c" || fail 'pages of an artefact that is out of date were used'
! table yes "$work/web" none.c 2>/dev/null || fail '--with-web=yes went without pages'

[ -n "$NODE" ] && [ -n "$NPM" ] || skip 'node and npm are missing'
again=$top_builddir/web_artefact
sh "$build_web" artefact "$web" "$openapi" "$again" "$work/again.tar" || fail 'cannot be built'
cmp "$web/pages.tar" "$work/again.tar" || {
    tar -xOf "$work/again.tar" sources.sha256
    tar -tvf "$work/again.tar"
    fail 'web/pages.tar is not what its sources make: make web-artefact'
}
echo "$(wc -c <"$web/pages.tar") bytes are what the sources make"
