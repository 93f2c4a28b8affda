#!/bin/sh
# docs/api_reference.md is what the public headers say now, and names each function of theirs.
set -u
source=${top_srcdir:-.}
page=$source/docs/api_reference.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
headers=
for header in $(sed -n '/^api_headers =/,/[^\\]$/p' "$source/Makefile.am" |
    sed 's/^api_headers =//; s/\\$//'); do
    headers="$headers include/csengine/$header.h"
done
(cd "$source" && LC_ALL=C awk -f scripts/write_api_reference.awk $headers) >"$work/page.md" ||
    failures=1
if ! diff "$page" "$work/page.md"; then
    echo "FAIL: docs/api_reference.md is old: make api_reference"
    failures=1
fi
# No header is left out, and no function.
for header in "$source"/include/csengine/*.h "$source"/include/csengine/generated/*.h; do
    grep -qF "## ${header#"$source"/include/}" "$page" ||
        { echo "FAIL: $header has no section"; failures=1; }
done
count=0
for name in $(sed -n 's/^CSE_API .*\(cse_[a-z0-9_]*\)(.*/\1/p' \
    "$source"/include/csengine/*.h "$source"/include/csengine/generated/*.h); do
    count=$((count + 1))
    grep -q "^### .*\`$name\`" "$page" || { echo "FAIL: $name is missing"; failures=1; }
done
[ "$count" -ge 100 ] || { echo "FAIL: only $count functions were found"; failures=1; }
# Each entry of the table of contents leads to a heading.
for anchor in $(grep -o '](#[^)]*)' "$page" | sed 's/](#//; s/)//' | sort -u); do
    sed -n 's/^### //p' "$page" | tr 'A-Z ' 'a-z-' | tr -d '\`,' | grep -qxF -e "$anchor" ||
        { echo "FAIL: #$anchor leads nowhere"; failures=1; }
done
[ "$failures" = 0 ] && echo "$count functions"
