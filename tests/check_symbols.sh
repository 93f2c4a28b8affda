#!/bin/sh
# The shared library exports only names that begin with cse_ and are declared in the public headers:
# any other would become an interface by accident.
set -eu
library=${top_builddir:-.}/.libs/libcsengine.so
[ -e "$library" ] || { echo "$library is not built: skipped"; exit 77; }
command -v nm >/dev/null || { echo "nm is not there: skipped"; exit 77; }
# Sanitizers and coverage add names of their own.
names=$(nm -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ { print $3 }' |
    grep -vE '^(__|_init$|_fini$|_edata$|_end$)' || :)
[ -n "$names" ] || { echo "$library exports nothing"; exit 1; }
bad=0
for name in $names; do
    case $name in
    cse_*) ;;
    *) echo "$name: exported, but does not begin with cse_"; bad=1; continue ;;
    esac
    grep -rqw "$name" "${top_srcdir:-.}/include/csengine" 2>/dev/null ||
        { echo "$name: exported, but in no public header"; bad=1; }
done
echo "$(echo "$names" | wc -l) names exported"
exit "$bad"
