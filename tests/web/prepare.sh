# Sourced by the tests of the pages: skips the test with the reason when something it needs is
# missing. Sets $node, $dist (the built pages) and $shots (where screenshots go), and exports
# CSE_WEB_TEST_MODULES.
# shellcheck shell=sh
skip() {
    echo "skipped: $*"
    exit 77
}

top_srcdir=${top_srcdir:-.} top_builddir=${top_builddir:-build}
node=${NODE:-$(command -v node || :)} npm=${NPM:-$(command -v npm || :)}
[ "${CSE_SANITIZE:-no}" = no ] || skip 'the pages are no part of a sanitizer build'
[ -n "$node" ] && [ -n "$npm" ] || skip 'node and npm are missing'
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip 'chromium is missing'
"$node" -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' ||
    skip 'playwright-core needs Node.js 18'
dist=$top_builddir/web_build/dist
[ -f "$dist/index.html" ] || skip 'this build has no pages'

# The tests' own packages, once; two tests may want them at the same time.
work=$top_builddir/web_test
shots=$work/screenshots
mkdir -p "$shots"
(
    flock 9
    cmp -s "$top_srcdir/tests/web/package-lock.json" "$work/package-lock.json" && exit 0
    cp "$top_srcdir/tests/web/package.json" "$work/package.json"
    cp "$top_srcdir/tests/web/package-lock.json" "$work/package-lock.json"
    (cd "$work" && "$npm" ci --ignore-scripts --no-audit --no-fund --prefer-offline \
        >npm.log 2>&1) || { rm -f "$work/package-lock.json"; exit 1; }
) 9>"$work/lock" || skip "npm ci failed, see $work/npm.log"
CSE_WEB_TEST_MODULES=$work/node_modules
export CSE_WEB_TEST_MODULES
