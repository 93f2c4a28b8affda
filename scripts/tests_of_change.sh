#!/bin/sh
# Which tests a change touches, as lines "RANK TEST", the name as make and the lists know it. On
# standard input are the changed files; called in the folder of the build, for the lists of headers
# that the compiler writes there. Ranks: 1 a changed test; 2 a test named after a changed file, or
# one of all pages; 3 a check program that includes a changed header; 4 the other tests of the
# folder that mirrors the file's. Of a test the lowest rank counts.
set -u
top=${top_srcdir:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sort -u >"$work/changed"

# The name by which make and the lists know a test: without .c.
tests_in() { # folder below tests/
    find "$top/$1" -maxdepth 1 \( -name 'check_*.c' -o -name 'check_*.sh' \) 2>/dev/null |
        sed "s|^$top/||; s|\.c$||"
}
mirror_of() { # file: the nearest folder of tests/ with tests
    folder=$(dirname "$1")
    while [ "$folder" != . ] && [ -z "$(tests_in "tests/$folder")" ]; do
        folder=$(dirname "$folder")
    done
    [ "$folder" = . ] || echo "tests/$folder"
}
tests_of() { # file: lines "RANK TEST"
    case $1 in
    tests/*check_*.c) echo "1 ${1%.c}" ;;
    tests/*check_*.sh) echo "1 $1" ;;
    *.md | docs/*)
        for name in pages named agreement tables glossary; do
            echo "2 tests/docs/check_$name.sh"
        done
        ;;
    configs/* | examples/*.yaml) echo '2 tests/run/check_model_configs.sh' ;;
    scripts/*) grep -rlF --include='check_*.sh' "$(basename "$1")" "$top/tests" |
        sed "s|^$top/|2 |" ;;
    esac
    mirror=$(mirror_of "$1")
    [ -n "$mirror" ] || return 0
    stem=$(basename "$1" | sed 's/\..*//')
    tests_in "$mirror" | awk -v stem="check_$stem" -v own="${1#tests/}" '
        { name = $0; sub(/.*\//, "", name); rank = index(name, stem) == 1 ? 2 : 4
          if (own !~ /check_/) print rank, $0 }'
}
# Check programs that include a changed header, by the lists that the compiler writes.
including() {
    sed -n 's|.*\.h$|/&|p' "$work/changed" >"$work/headers"
    [ -s "$work/headers" ] || return 0
    grep -rlF -f "$work/headers" --include='check_*.Po' tests 2>/dev/null |
        sed 's|/\.deps/|/|; s|\.Po$||; s|^|3 |'
}


{ while read -r file; do tests_of "$file"; done <"$work/changed" && including; } |
    sort -k2,2 -k1,1n | awk '!seen[$2]++'
