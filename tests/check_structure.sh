#!/bin/sh
# No cycles of includes, so that each file can be read, tested and replaced without the files that
# include it. A .c and the .h of its name count as one file. Lists each cycle with its includes.
#
# Usage: tests/check_structure.sh [TREE]; the tree is $top_srcdir or the current directory
# otherwise.
set -eu
LC_ALL=C
export LC_ALL
cd "${1:-${top_srcdir:-.}}"
folders=''
for folder in engine dataloader store workers run client cli dashboard mpi; do
    [ -d "$folder" ] && folders="$folders $folder"
done
# Tarjan, "Depth-first search and linear graph algorithms", 1972: a strongly connected component of
# more than one file is a circle.
find $folders -type f \( -name '*.c' -o -name '*.h' \) ! -name registry.c | sort | xargs awk '
function name_of(path) {
    sub(/\.[ch]$/, "", path)
    return path
}
function component_of(root,    file, size, members, i, j, from, to, count, list) {
    do {
        file = stack[depth--]
        waiting[file] = 0
        members[++size] = file
        inside[file] = root
    } while (file != root)
    if (size == 1)
        return
    printf "circle %d: %d files\n", ++circles, size
    for (i = 1; i <= size; i++) {
        from = members[i]
        count = split(includes[from], list, " ")
        for (j = 1; j <= count; j++) {
            to = list[j]
            if (inside[to] == root)
                printf "    %s: includes %s\n", from, to
        }
    }
}
function visit(file,    count, list, i, to) {
    number[file] = low[file] = ++visited
    stack[++depth] = file
    waiting[file] = 1
    count = split(includes[file], list, " ")
    for (i = 1; i <= count; i++) {
        to = list[i]
        if (!(to in known))
            continue
        if (!(to in number)) {
            visit(to)
            if (low[to] < low[file])
                low[file] = low[to]
        } else if (waiting[to] && number[to] < low[file])
            low[file] = number[to]
    }
    if (low[file] == number[file])
        component_of(file)
}
FNR == 1 {
    current = name_of(FILENAME)
    if (!(current in known)) {
        known[current] = 1
        order[++files] = current
    }
}
/^#[ \t]*include "/ {
    split($0, quoted, "\"")
    target = name_of(quoted[2])
    if (target != current && !((current, target) in seen)) {
        seen[current, target] = 1
        includes[current] = includes[current] " " target
    }
}
END {
    for (f = 1; f <= files; f++)
        if (!(order[f] in number))
            visit(order[f])
    printf "%d files, %d circles\n", files, circles
    exit circles > 0
}
'
