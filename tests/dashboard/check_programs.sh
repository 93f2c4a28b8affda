#!/bin/sh
# Programs as jobs: submitted, seen live, cancelled, killed, confined, refused; in programs_test.py.
set -eu
: "${top_srcdir:?}" "${top_builddir:?}"
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo "there is no python3: skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
includes="-I$top_srcdir/include"
[ -d "$top_builddir/include" ] && includes="$includes -I$top_builddir/include"
# A sanitized library needs a sanitized program.
sanitizer=$(sed -n 's/^#define CSE_SANITIZE "\(.*\)"/\1/p' "$top_builddir/config.h")
flags=
[ "${sanitizer:-no}" = no ] || flags=-fsanitize=$sanitizer
libraries=$(cd "$top_builddir/.libs" && pwd)
# shellcheck disable=SC2086
${CC:-cc} -std=gnu11 -Wall -Wextra -Werror $flags $includes -o "$folder/trainer" \
    "$top_srcdir/tests/dashboard/programs/trainer.c" -L"$libraries" -lcsengine \
    -Wl,-rpath,"$libraries"
CSE_TEST_PROGRAM=$folder/trainer CSE_TEST_LIBRARIES=$libraries PYTHONDONTWRITEBYTECODE=1
export CSE_TEST_PROGRAM CSE_TEST_LIBRARIES PYTHONDONTWRITEBYTECODE
"$python" "$top_srcdir/tests/dashboard/programs_test.py"
