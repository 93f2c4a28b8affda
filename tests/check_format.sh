#!/bin/sh
# Every C file is as clang-format writes it with the tree's .clang-format. Skipped where
# clang-format is missing or is another version than 14, since versions differ in details.
#
# The digests of texts that were found right are kept in the build directory, so that the next run
# reads what has changed only; each counts for one .clang-format and one program.
set -eu
kept=$(cd "${top_builddir:-build}" && pwd)/format_checked
cd "${top_srcdir:-.}"
clang_format=${CLANG_FORMAT:-clang-format}
case $("$clang_format" --version 2>/dev/null || :) in
*'version 14.'*) ;;
*) echo "clang-format 14 is not there: skipped"; exit 77 ;;
esac
folders=''
for folder in engine dataloader store workers run client cli dashboard mpi include tests bench \
    examples; do
    [ -d "$folder" ] && folders="$folders $folder"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rules=$({ "$clang_format" --version; cat .clang-format; } | sha256sum | cut -c 1-64)
find $folders -type f \( -name '*.c' -o -name '*.h' \) ! -name registry.c ! -name kinds.c \
    ! -name prelude_text.c ! -name schema_text.c ! -name templates_text.c ! -name maps_text.c \
    ! -name slurm_script_text.c ! -name parquet_program_text.c \
    ! -path '*/generated/*' -print |
    LC_ALL=C sort | xargs sha256sum | sed "s/^/$rules /" >"$work/texts"
[ -s "$work/texts" ] || { echo 'there are no C files'; exit 1; }
touch "$kept"
# A text counts under the name it had: by it a header is told from a source.
LC_ALL=C grep -vxFf "$kept" "$work/texts" >"$work/new" || :
if [ -s "$work/new" ]; then
    sed 's/^[^ ]* [^ ]*  //' "$work/new" |
        xargs "$clang_format" --dry-run --Werror --style=file
fi
cp "$work/texts" "$kept.$$"
mv "$kept.$$" "$kept"
