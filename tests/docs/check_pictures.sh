#!/bin/sh
# The pictures of docs/dashboard.md: each is a file that tests/web/pictures.mjs makes, all that it
# makes are shown, the page says what makes them, and together they are small.
set -u
docs=${top_srcdir:-.}/docs
maker=${top_srcdir:-.}/tests/web/pictures.mjs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    failed=1
}

grep -o '](dashboard[a-z_]*\.png)' "$docs/dashboard.md" | tr -d '])(' | sort >"$work/shown"
sed -n 's/^  \["\([a-z_]*\)", .*/\1/p' "$maker" | sed 's/.*/dashboard_&.png/; s/_pulse\.png/.png/
    s/^dashboard_phone\.png/dashboard_phone_pulse.png/' | sort >"$work/made"
[ -s "$work/shown" ] || fail "the page shows no picture"
cmp -s "$work/shown" "$work/made" || fail "shown and made: $(diff "$work/shown" "$work/made")"
bytes=0
while read -r name; do
    [ -f "$docs/$name" ] || { fail "$name is missing"; continue; }
    bytes=$((bytes + $(wc -c <"$docs/$name")))
done <"$work/shown"
[ "$bytes" -le 600000 ] || fail "the pictures have $bytes bytes; at most 600000"
grep -q 'scripts/dashboard_pictures.sh' "$docs/dashboard.md" || fail "the page names no script"
exit $failed
