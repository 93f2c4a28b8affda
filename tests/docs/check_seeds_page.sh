#!/bin/sh
# docs/seeds.md is what the tests of the documents' statements say now, and every line of the
# documents has its place in a table.
set -eu
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -B "$source/scripts/write_seeds_page.py" "$source/tests/seeds" >"$work/page.md"
diff "$source/docs/seeds.md" "$work/page.md" || {
    echo 'FAIL: docs/seeds.md is old: make seeds_page'
    exit 1
}
names=$(grep -c '^    "test_' "$source/tests/seeds/pending.py") || :
[ "$names" -eq 0 ] || grep -q 'not yet | ' "$source/docs/seeds.md" || {
    echo 'FAIL: pending tests are not told'
    exit 1
}
# A line without a place is found.
cp -r "$source/tests/seeds" "$work/seeds"
sed 's/^002:4,40-46 /002:4,41-46 /' "$source/tests/seeds/without_test.txt" \
    >"$work/seeds/without_test.txt"
! "${PYTHON:-python3}" -B "$source/scripts/write_seeds_page.py" "$work/seeds" \
    >"$work/page.md" 2>"$work/err" || {
    echo 'FAIL: a line is missing, and nobody says so'
    exit 1
}
grep -qx 'lines without a place: 002:40' "$work/err" || { cat "$work/err"; exit 1; }
