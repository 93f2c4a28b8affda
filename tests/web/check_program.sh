#!/bin/sh
# A program in C, seen in the browser while it runs: see check_program.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
includes="-I$top_srcdir/include"
[ -d "$top_builddir/include" ] && includes="$includes -I$top_builddir/include"
libraries=$(cd "$top_builddir/.libs" && pwd)
mkdir "$directory/programs"
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -Wall -Wextra -Werror $includes -o "$directory/programs/trainer" \
    "$top_srcdir/tests/dashboard/programs/trainer.c" -L"$libraries" -lcsengine \
    -Wl,-rpath,"$libraries"
timeout 300 "$node" "$top_srcdir/tests/web/check_program.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory" "$libraries"
