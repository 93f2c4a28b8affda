#!/bin/sh
# docs/dashboard.md: its tables have each page of the dashboard, by its title and key, and each kind
# of mark; no other. Routes and links are checked by check_pages.sh.
set -u
tree=$(cd "${top_srcdir:-.}" && pwd)
page=$tree/docs/dashboard.md
failed=0

# "Curves c" of each page, in the order of the letters.
in_sources() {
    for file in "$tree"/web/src/pages/*.tsx; do
        sed -n '/^export const page\b/,/^};/p' "$file" |
            sed -n 's/^  title: "\(.*\)",/\1/p; s/^  key: "\(.*\)",/\1/p' | paste -s -d ' '
    done | sed '/^$/d' | sort
}
on_page() { # one file
    sed -n 's/^| \([A-Z][A-Za-z ]*\) | `g` `\(.\)` |.*/\1 \2/p' "$1" | sort
}
marks_in_sources() {
    sed -n '/MARK_WORDS/,/^};/s/^  [a-z]*: "\(.*\)",/\1/p' "$tree/web/src/marks/marks.ts" | sort
}
marks_on_page() { # one file
    sed -n '/^## Marks/,/^## [^M]/s/^| \([a-z][a-z ]*\) | .*/\1/p' "$1" | sort
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compare() { # what, expected, found
    [ -s "$2" ] && cmp -s "$2" "$3" && return 0
    echo "FAIL: $1 of docs/dashboard.md and of web/src differ:"
    diff "$2" "$3"
    return 1
}
in_sources >"$work/pages"
marks_in_sources >"$work/marks"
on_page "$page" >"$work/told"
compare pages "$work/pages" "$work/told" || failed=1
marks_on_page "$page" >"$work/told"
compare marks "$work/marks" "$work/told" || failed=1

# A page that lacks one is refused.
grep -v '^| Curves ' "$page" >"$work/less.md"
on_page "$work/less.md" >"$work/told"
compare pages "$work/pages" "$work/told" >/dev/null && {
    echo "FAIL: a table without Curves is accepted"
    failed=1
}
echo "$(wc -l <"$work/pages") pages, $(wc -l <"$work/marks") kinds of marks"
exit $failed
