#!/bin/sh
# Every C file is as clang-format writes it with the tree's .clang-format. Skipped where
# clang-format is missing or is another version than 14, since versions differ in details.
set -eu
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
find $folders -type f \( -name '*.c' -o -name '*.h' \) ! -name registry.c ! -name kinds.c \
    ! -name prelude_text.c ! -name schema_text.c ! -name templates_text.c ! -name maps_text.c \
    ! -name slurm_script_text.c ! -name parquet_program_text.c \
    ! -path '*/generated/*' -print |
    LC_ALL=C sort | xargs "$clang_format" --dry-run --Werror --style=file
