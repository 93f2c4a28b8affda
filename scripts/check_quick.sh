#!/bin/sh
# The tests that a change touches, within a minute, for the loop of editing; `make check` has all.
# `make check-quick` builds the program, then calls it in the folder of the build:
#
#     check_quick.sh [BASE [SECONDS]]
#
# Changed are the files that differ from BASE (a revision; without one HEAD, or where nothing
# differs from that, HEAD~1). Their tests are those of scripts/tests_of_change.sh, in the order of
# its ranks. Of one rank the shortest first, by the logs of earlier runs. Tests that need a
# compiler for their pages, a browser or other hosts are found in the same way. What is not done
# when SECONDS (60) are over is left out, and named.
set -u
top=${top_srcdir:?} base=${1:-} seconds=${2:-60}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -C "$top" rev-parse --git-dir >/dev/null 2>&1 ||
    { echo "check-quick: $top is no checkout of git: use make check" >&2; exit 1; }

changed_from() { # revision
    { git -C "$top" diff --name-only --diff-filter=d "$1" &&
        git -C "$top" ls-files --others --exclude-standard; } | sort -u
}
[ -n "$base" ] || { [ -n "$(changed_from HEAD)" ] && base=HEAD || base=HEAD~1; }
changed_from "$base" >"$work/changed" || exit 1
begun=$(date +%s)
spent() { echo $(($(date +%s) - begun)); }

# How long each test took when it last ran; 5 s for one that never did.
find tests -name 'check_*.log' -exec grep -H '^timed: ' {} + 2>/dev/null |
    sed -E 's/^(.*)\.log:.*, ([0-9]+) s$/\1 \2/' >"$work/lengths"
"$top/scripts/tests_of_change.sh" <"$work/changed" | awk -v lengths="$work/lengths" '
        BEGIN { while ((getline line <lengths) > 0) { split(line, f, " "); took[f[1]] = f[2] } }
        { name = $2; sub(/\.sh$/, "", name)
          print $1, name in took ? took[name] : 5, $2 }' |
    sort -k1,1n -k2,2n >"$work/chosen"
echo "check-quick: $(wc -l <"$work/changed") files differ from $base," \
    "$(wc -l <"$work/chosen") tests touch them"

failed=0 passed=0
run_one() { # test: builds it, runs it, tells its result
    left=$((seconds - $(spent)))
    case $1 in
    *.sh) timeout -k 5 "$left" "${SHELL:-sh}" "$top/$1" >"$work/log" 2>&1 ;;
    *) timeout -k 5 "$left" "${MAKE:-make}" -s "$1" >"$work/log" 2>&1 &&
        timeout -k 5 $((seconds - $(spent) + 1)) "./$1" >>"$work/log" 2>&1 ;;
    esac
    case $? in
    0) passed=$((passed + 1)) && echo "PASS: $1" ;;
    77) echo "SKIP: $1: $(tail -n 1 "$work/log")" ;;
    124 | 137) echo "$1 (not done in time)" >>"$work/left" ;;
    *) failed=$((failed + 1)) && echo "FAIL: $1" && tail -n 40 "$work/log" ;;
    esac
}
: >"$work/left"

# The rules, and the layout of the changed files.
for rule in check_tidy check_structure; do run_one "tests/$rule.sh"; done
sed -nE "/\.[ch]$/s|^|$top/|p" "$work/changed" | grep -vE '_text\.c$|registry\.c$|kinds\.c$' |
    xargs -r "${CLANG_FORMAT:-clang-format-14}" --dry-run --Werror --style=file || {
    failed=$((failed + 1))
    echo 'FAIL: layout: make tidy mends it'
}
while read -r rank length test; do
    if [ $(($(spent) + length)) -le "$seconds" ] && [ "$(spent)" -lt "$seconds" ]; then
        run_one "$test" </dev/null
    else
        echo "$test" >>"$work/left"
    fi
done <"$work/chosen"
if [ -s "$work/left" ]; then
    echo "left out, $(wc -l <"$work/left") of them: make check TESTS='...'"
    head -n 20 "$work/left" | sed 's/^/    /'
fi
echo "check-quick: $passed passed, $failed failed, $(spent) s"
[ "$failed" -eq 0 ]
