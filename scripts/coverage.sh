#!/bin/sh
# Lines executed, by folder and in all, of a build configured with --enable-coverage whose programs
# have run. Usage: scripts/coverage.sh SOURCE_DIR BUILD_DIR (make coverage calls it).
set -eu
source=$(cd "$1" && pwd)
cd "$2"
[ "${GCOV:-gcov}" != : ] || { echo "coverage: gcov is missing (it comes with gcc)" >&2; exit 1; }
find . -name '*.gcda' | LC_ALL=C sort | while read -r counts; do
    "${GCOV:-gcov}" -n -r -s "$source" -o "$(dirname "$counts")" "$counts" 2>/dev/null || :
done | awk '
/^File / { split($0, quoted, "\047"); file = quoted[2] }
/^Lines executed:/ && file ~ /^(engine|dataloader|workers|cli)\// {
    # The same file may be counted for several programs: the best count stands.
    split($0, part, /[:% ]+/)
    percent = part[3]; total = part[5]
    if (!(file in lines) || percent * total / 100 > run[file]) {
        lines[file] = total
        run[file] = percent * total / 100
    }
    file = ""
}
END {
    for (file in lines) {
        folder = file
        sub(/\/[^\/]*$/, "", folder)
        folder_lines[folder] += lines[file]; folder_run[folder] += run[file]
        all_lines += lines[file]; all_run += run[file]
    }
    for (folder in folder_lines)
        printf "%-28s %6d lines %6.1f %%\n", folder, folder_lines[folder], \
            100 * folder_run[folder] / folder_lines[folder] | "LC_ALL=C sort"
    close("LC_ALL=C sort")
    if (all_lines == 0) { print "coverage: no counts: run the tests first"; exit 1 }
    printf "%-28s %6d lines %6.1f %%\n", "all", all_lines, 100 * all_run / all_lines
}'
