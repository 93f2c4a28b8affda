#!/bin/sh
# ./bootstrap, with stand-ins for apt-get, dpkg-query, configure and make: which packages it
# installs and how, that it configures again when a package came in, what it says of each phase, and
# how it fails. .ci/packages does the same with real ones. And: the summary of `make check` names
# what was skipped; the libraries that bootstrap and the Debian package build with are the same.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
expect() { # file pattern what
    grep -qE -e "$2" "$1" || {
        fail "$3: no '$2' in"
        cat "$1"
    }
}
refuse() { # file pattern what
    ! grep -qE -e "$2" "$1" || fail "$3: '$2' in $1"
}

mkdir -p "$work/bin" "$work/tree/m4" "$work/tree/.git"
stand_in() { # name, body
    printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n%s\n' "$(basename "$1")" "$work" "$2" >"$1"
    chmod +x "$1"
}
stand_in "$work/bin/id" 'echo 0'
stand_in "$work/bin/dpkg-query" "
for last; do :; done
grep -qx \"\$last\" '$work/installed' && printf installed"
stand_in "$work/bin/apt-get" "
case \" \$* \" in
*--print-uris*) echo \"'http://x/a.deb' a.deb 146000000 SHA256:0\"; exit ;;
*' install '*)
    [ ! -f '$work/broken' ] || { echo 'E: Unable to locate package'; exit 100; }
    echo 'dlstatus:1:45.25:Retrieving file 1 of 1 (10s remaining)' >&3
    [ ! -f '$work/slow' ] || sleep 6
    for word; do echo \"\$word\"; done >>'$work/installed' ;;
esac"
stand_in "$work/bin/make" "
case \" \$* \" in
*' check '*) echo 'PASS: a test' ;;
*) printf '#!/bin/sh\necho trained \$*\n' >'$work/tree/build/csengine'
    chmod +x '$work/tree/build/csengine' ;;
esac"
cp "$source/bootstrap" "$work/tree/"
touch "$work/installed"
for file in configure.ac Makefile.am m4/cse_flags.m4; do touch "$work/tree/$file"; done
printf 'tests_in_order = \\\n\ttests/a\n' >"$work/tree/sources.am"
stand_in "$work/tree/autogen.sh" "cat >configure <<'END'
#!/bin/sh
echo \"configure \$*\" >>'$work/calls'
printf '#!/bin/sh\necho \"config.status \$*\" >>$work/calls\n' >config.status
chmod +x config.status
END
chmod +x configure"
bootstrap() { # arguments
    : >"$work/calls"
    code=0
    (cd "$work/tree" && PATH="$work/bin:$PATH" sh ./bootstrap "$@" >"$work/out" 2>&1 </dev/null) ||
        code=$?
}

# A bare machine: everything is installed once, without what is only recommended, and without
# Node.js, which no user needs.
touch "$work/slow"
bootstrap run --max_steps 5
rm "$work/slow"
[ "$code" = 0 ] || fail "run: exit code $code"
expect "$work/calls" '^apt-get .*--no-install-recommends.* install .*libdnnl-dev.*automake' 'run'
refuse "$work/calls" 'nodejs|npm|[^-]check |chromium' 'run'
expect "$work/calls" '^apt-get .*APT::Status-Fd=3 .* install' 'the status lines'
expect "$work/out" '^bootstrap: installing 1 packages, 146 MB to download$' 'the size'
expect "$work/out" '^bootstrap:   5 s: 45 %: Retrieving file 1 of 1' 'a line while apt-get works'
for phase in 'reading the lists' 'installing' 'writing configure' 'configuring' 'building'; do
    expect "$work/out" "^bootstrap: $phase.*: [0-9]+ s\$" 'the seconds of a phase'
done
expect "$work/out" '^trained start configs/fc_mnist.yaml --max_steps 5' 'training'

# Then the tests: what is missing for them comes in, and configure looks again.
bootstrap check
[ "$code" = 0 ] || fail "check: exit code $code"
expect "$work/calls" '^apt-get .*--no-install-recommends.* install check curl .*chromium' 'check'
refuse "$work/calls" '^apt-get .* install .*libdnnl-dev' 'check installs what is there'
expect "$work/calls" '^config.status --recheck' 'check configures again'
expect "$work/out" '^PASS: a test' 'the tests'

# All is there: no apt-get, no configure.
bootstrap check
[ "$code" = 0 ] || fail "a second check: exit code $code"
refuse "$work/calls" '^(apt-get|configure|config.status) ' 'a second check'
expect "$work/calls" '^make .* check LONG=no$' 'without the long tests'

bootstrap check --long
[ "$code" = 0 ] || fail "check --long: exit code $code"
expect "$work/calls" '^make .* check LONG=yes$' 'with the long tests'
bootstrap check --build
[ "$code" = 0 ] || fail "check --build: exit code $code"
expect "$work/calls" '^make .* check TESTS=$' 'the programs of the tests'
refuse "$work/calls" '^make .* check LONG=' 'no test'
bootstrap check --all
[ "$code" = 64 ] || fail "check --all: exit code $code"
expect "$work/out" 'check takes --long, --build, or no arguments: --all' 'a wrong flag'

# From a release archive: configure is there, whatever its time; the tools that make it are not
# needed.
: >"$work/installed"
rmdir "$work/tree/.git"
touch -d '1 hour ago' "$work/tree/configure"
bootstrap run
[ "$code" = 0 ] || fail "run in an archive: exit code $code"
refuse "$work/calls" '^autogen.sh' 'an archive'
expect "$work/calls" '^apt-get .* install .*libdnnl-dev' 'an archive'
refuse "$work/calls" 'autoconf|automake|libtool' 'an archive'

# apt-get fails: its words, what to do, and its own exit code.
: >"$work/installed"
touch "$work/broken"
bootstrap run
[ "$code" = 69 ] || fail "apt-get fails: exit code $code"
expect "$work/out" '^E: Unable to locate package' "apt-get's words"
expect "$work/out" '^bootstrap: error: apt-get cannot install: gcc' 'the error'
refuse "$work/out" 'dlstatus' 'lines for programs are no words'

# The summary of `make check` names each skipped test with its reason.
echo ':test-result: SKIP' >"$work/one.trs"
printf 'skipped: curl is missing\ntimed: 0.1 s of processor, 1 s\nSKIP one (exit status: 77)\n' \
    >"$work/one.log"
echo ':test-result: PASS' >"$work/two.trs"
echo fine >"$work/two.log"
(cd "$work" && sh "$source/tests/support/list_skips.sh" one.log two.log) >"$work/out"
expect "$work/out" '^skipped: one: curl is missing$' 'the summary'
refuse "$work/out" 'two' 'the summary'
grep -A1 '^AM_TESTSUITE_SUMMARY_HEADER' "$source/Makefile.am" | grep -q list_skips.sh ||
    fail 'make check does not list what was skipped'

# One list of libraries.
libraries_of() { # file
    grep -oE '\b(lib[a-z0-9.-]+|zlib1g)-dev\b' "$1" | grep -vE '^lib(c6|clang-rt.*)-dev$' | sort -u
}
libraries_of "$source/bootstrap" >"$work/bootstrap.list"
sed -n '/^Build-Depends/,/^[A-Z].*:/p' "$source/debian/control" >"$work/build_depends"
libraries_of "$work/build_depends" >"$work/debian.list"
[ "$(wc -l <"$work/debian.list")" -ge 10 ] || fail 'debian/control has no list of libraries'
diff "$work/bootstrap.list" "$work/debian.list" || fail 'bootstrap and debian/control differ'

[ "$failures" = 0 ]
