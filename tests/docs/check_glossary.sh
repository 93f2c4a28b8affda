#!/bin/sh
# docs/glossary.md: each term once, in the alphabet's order, in rows of three cells that are filled
# and not too long to read; planted faults are told.
set -u
source=${top_srcdir:-.}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
faults_of() { # page
    LC_ALL=C awk -F' *[|] *' '
        !/^\| / || /^\| Term \|/ { next }
        { rows++ }
        NF != 5 || $2 == "" || $3 == "" || $4 == "" { print FNR ": not three cells" }
        length($0) > 260 { print FNR ": " length($0) " bytes, 260 at most" }
        tolower($2) < before { print FNR ": " $2 " stands after " before }
        {
            before = tolower($2)
            count = split($2, terms, ", ")
            for (i = 1; i <= count; i++) {
                sub(/ *\(.*/, "", terms[i])
                if (seen[terms[i]]++) print FNR ": " terms[i] " has been said"
            }
        }
        END { if (rows < 60) print "0: only " rows + 0 " terms" }' "$1"
}
failed=0
faults_of "$source/docs/glossary.md" >"$work/told"
[ ! -s "$work/told" ] || { sed 's|^|docs/glossary.md:|' "$work/told"; failed=1; }
plant() { # what awk makes of the page, what is told
    awk "$1" "$source/docs/glossary.md" >"$work/page"
    faults_of "$work/page" | grep -q "$2" || { echo "FAIL: not told: $2"; failed=1; }
}
plant '{ print } /^\| arena /' 'arena has been said'
plant '/^\| arena / { kept = $0; next } { print } END { print kept }' 'arena stands after'
plant '{ sub(/^\| arena \|/, "| arena | |"); print }' 'not three cells'
exit $failed
