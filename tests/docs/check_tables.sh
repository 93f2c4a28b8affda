#!/bin/sh
# The tables in the documents equal those that the program prints: states, reasons, exit codes.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
found=0
for document in "$source"/docs/*.md "$source"/README.md; do
    grep -q '^<!-- csengine ' "$document" || continue
    found=$((found + 1))
    sh "$source/scripts/fill_tables.sh" "$csengine" "$document" >"$work/filled" ||
        failures=$((failures + 1))
    if ! diff "$document" "$work/filled"; then
        echo "FAIL: $document: its tables are old: sh scripts/fill_tables.sh csengine $document"
        failures=$((failures + 1))
    fi
done
[ "$found" -gt 0 ] || { echo "FAIL: no document has a table"; exit 1; }
# The table is the code's: each state of the header stands in the document once, as a row.
for state in $(sed -n 's/^    X(\([A-Z]*\), [01], [01].*/\1/p' "$source/store/states.h"); do
    [ "$(grep -c "^| $state |" "$source/docs/operations.md")" = 1 ] ||
        { echo "FAIL: $state is no row"; failures=$((failures + 1)); }
done
# Links to files of the tree lead somewhere.
for link in $(grep -o '](\.\./[^)]*)' "$source/docs/operations.md" | sed 's/](//; s/)//'); do
    [ -e "$source/docs/$link" ] || { echo "FAIL: $link"; failures=$((failures + 1)); }
done
[ "$failures" = 0 ]
