#!/bin/sh
# The code and the plugins of runs side by side, over real runs: see check_texts.mjs.
set -eu
. "$top_srcdir/tests/web/prepare.sh"
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip 'there is no C compiler'
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
mkdir "$directory/libraries"
library() { # NAME FACTOR
    sed "s|\.expression = \"\(.*\)\"|.expression = \"(\1)$2\"|" \
        "$top_srcdir/examples/outside/custom_kinds.c" >"$directory/$1.c"
    # shellcheck disable=SC2086 # the compiler may have flags
    $compiler -std=c11 -shared -fPIC -I"$top_srcdir/include" -I"${top_builddir:?}/include" \
        -o "$directory/libraries/$1.so" "$directory/$1.c"
}
library own ''
library other ' * 1.5f'
timeout 600 "$node" "$top_srcdir/tests/web/check_texts.mjs" "$CSENGINE_EXECUTABLE" "$dist" \
    "$shots" "$directory"
