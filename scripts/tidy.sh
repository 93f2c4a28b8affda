#!/bin/sh
# `make tidy`: lays out the C files that differ from BASE (a revision; HEAD~1 without one) as
# clang-format 14 does with the tree's .clang-format, then checks layout, rules and circles of the
# whole tree. It changes nothing else.
set -u
top=${top_srcdir:?} base=${1:-HEAD~1}
clang_format=${CLANG_FORMAT:-clang-format-14}
case $("$clang_format" --version 2>/dev/null) in
*'version 14.'*) ;;
*) echo "make tidy: wants clang-format 14 (Debian: clang-format-14); CLANG_FORMAT names it" >&2
    exit 1 ;;
esac
cd "$top" || exit 1
folders='engine dataloader store workers run client cli dashboard mpi include tests bench examples'
{ git diff --name-only --diff-filter=d "$base" && git ls-files --others --exclude-standard; } |
    grep -E "^($(echo $folders | tr ' ' '|'))/.*\.[ch]\$" |
    grep -vE '/generated/|_text\.c$|/registry\.c$|/kinds\.c$' | sort -u |
    xargs -r "$clang_format" -i --style=file
failed=0
for rule in tidy structure format; do
    echo "check_$rule"
    CLANG_FORMAT=$clang_format sh "tests/check_$rule.sh" || failed=1
done
exit $failed
