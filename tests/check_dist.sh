#!/bin/sh
# `make dist` has every file of the tree but those of git itself, and the command with which it
# copies them is not too long for the shell. Skipped where the tree is no checkout of git.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
build=${top_builddir:-.}
git -C "$source" rev-parse --is-inside-work-tree >/dev/null 2>&1 ||
    { echo 'the tree is no checkout of git: skipped'; exit 77; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failures=0
${MAKE:-make} -s -C "$build" distdir distdir="$work/tree" >"$work/log" 2>&1 ||
    { echo "FAIL: make distdir: $(tail -n 5 "$work/log")"; exit 1; }
(cd "$work/tree" && find . -type f) | sed 's|^\./||' | LC_ALL=C sort >"$work/there"
git -C "$source" ls-files | grep -v '^\.git' | LC_ALL=C sort >"$work/wanted"
for file in $(LC_ALL=C comm -13 "$work/there" "$work/wanted"); do
    [ ! -f "$source/$file" ] || { echo "FAIL: make dist leaves out $file"; failures=1; }
done
[ "$(wc -l <"$work/wanted")" -gt 2000 ] || { echo 'FAIL: the tree is read wrongly'; failures=1; }
exit "$failures"
