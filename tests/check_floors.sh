#!/bin/sh
# The library is built of floors, of which each links with those below it and with its own
# libraries alone: so a floor calls nothing of those above it. Links the objects of the build.
set -eu
cd "${top_builddir:-.}"
# A shared object may lack what a sanitizer has in the program.
[ "${CSE_SANITIZE:-no}" = no ] || { echo "a sanitizer is linked to programs: skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
${MAKE:-make} -s --no-print-directory floors >"$folder/floors"
sed -n 's/^object //p' "$folder/floors" | grep -v '^mpi/' | sort -u >"$folder/objects"
link=$(sed -n 's/^link //p' "$folder/floors")
floors=0
failed=0
libraries=''
: >"$folder/below"
for floor in engine dataloader store workers run; do
    objects=$(sed -n "s|^\\($floor/.*/\\)\\([^/]*\\)\\.lo\$|\\1.libs/\\2.o|p;
        s|^\\($floor\\)/\\([^/]*\\)\\.lo\$|\\1/.libs/\\2.o|p" "$folder/objects")
    [ -n "$objects" ] || { echo "the build has no objects of $floor"; failed=1; }
    echo "$objects" >>"$folder/below"
    libraries="$(sed -n "s/^$floor //p" "$folder/floors") $libraries"
    if ! $link -shared -Wl,--no-undefined -Wl,--as-needed -o "$folder/floor.so" \
        $(cat "$folder/below") $libraries 2>"$folder/errors"; then
        echo "$floor does not link with the floors below it alone:"
        sed -n 's|.*/\([^/]*\.o\):.*undefined reference to .\(.*\).$|    \1 calls \2|p' \
            "$folder/errors" | sort -u | grep . || cat "$folder/errors"
        failed=1
    fi
    floors=$((floors + 1))
done
echo "$floors floors of $(wc -l <"$folder/below") objects"
exit $failed
