#!/bin/sh
# The whole program in the head comment of csengine.h compiles against the library without warnings,
# and trains.
set -eu
: "${top_srcdir:?}" "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}"
export CSENGINE_EXECUTABLE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The program is what is indented by four spaces within the comment's lines.
awk '/^#ifndef CSENGINE_H/ { exit } /^ \*     / { print substr($0, 8) } /^ \*$/ { print "" }' \
    "$top_srcdir/include/csengine/csengine.h" >"$folder/program.c"
grep -q 'int main' "$folder/program.c" || { echo "FAIL: no program in the comment"; exit 1; }

includes="-I$top_srcdir/include"
[ -d "$top_builddir/include" ] && includes="$includes -I$top_builddir/include"
# A sanitized library needs a sanitized program.
sanitizer=$(sed -n 's/^#define CSE_SANITIZE "\(.*\)"/\1/p' "$top_builddir/config.h")
flags=
[ "${sanitizer:-no}" = no ] || flags=-fsanitize=$sanitizer
# shellcheck disable=SC2086
"$top_builddir/libtool" --quiet --mode=link --tag=CC ${CC:-cc} -std=c11 -Wall -Wextra -Werror \
    $flags $includes -o "$folder/program" "$folder/program.c" \
    "$top_builddir/libcsengine.la"
cd "$folder"
./program >losses || { echo "FAIL: the program ended with $?"; exit 1; }
awk '/^step 10:/ { first = $4 } /^step 50:/ { last = $4 }
    END { exit !(last > 0 && last < first) }' losses ||
    { echo "FAIL: the loss did not fall:"; cat losses; exit 1; }
echo "the header's program: compiled, trained"
