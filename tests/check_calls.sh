#!/bin/sh
# What the includes cannot show: which file uses a name that which other one defines, as the objects
# of the build have it. A file uses those of its own room and of the rooms below it, in the order of
# tests/support/rooms.sh, whether by a header of theirs or by a public one; no files use each other
# in a circle.
#
# Registries name the plugins of their folder, and are named by what stands above it: they do not
# count. Nor do the calls of an op that is public from the room of ops: a gradient is made of ops,
# as the gradient of a sine is a cosine, and the other way round.
#
# Usage: tests/check_calls.sh; the build is $top_builddir or the current directory.
set -eu
LC_ALL=C
export LC_ALL
tree=$(cd "${top_srcdir:-.}" && pwd)
cd "${top_builddir:-.}"
. "$tree/tests/support/rooms.sh"
# Circles that are left, by one file of each; one that is gone is struck here.
known_circles=''
objects=$(${MAKE:-make} -s --no-print-directory floors | sed -n 's/^object //p' |
    sed -e 's|\(.*/\)\([^/]*\)\.lo$|\1.libs/\2.o|' | sort -u)
ops=$(sed -n 's/.*[ *]\(cse_[a-z0-9_]*\)(.*/\1/p' "$tree/include/csengine/generated/ops.h")
[ -n "$objects" ] && [ -n "$ops" ] || { echo "the build has no objects"; exit 1; }
nm -A $objects | directions=$directions ops=$ops known=$known_circles awk "$room_functions"'
function file_of(object) {
    sub(/\.libs\//, "", object)
    sub(/csengine_mpi_carrier-/, "", object)
    sub(/\.o$/, "", object)
    return object
}
function counts(file) { return file !~ /\/(registry|kinds)$/ }
function use(from, to, name,    below, above) {
    if (from == to || !counts(from) || !counts(to))
        return
    if (!((from, to) in edge)) {
        edge[from, to] = name
        uses[from] = uses[from] " " to
    }
    below = room_of(from)
    above = room_of(to)
    if (rooms[above] > rooms[below] && !((from, to) in told)) {
        told[from, to] = 1
        print from ".c: uses " name " of " to ".c: " above " stands above " below
        failed = 1
    }
}
function component_of(root,    file, size, members, i, j, count, list, text, one) {
    do {
        file = stack[depth--]
        waiting[file] = 0
        members[++size] = file
        inside[file] = root
    } while (file != root)
    if (size == 1)
        return
    circles++
    for (i = 1; i <= size; i++) {
        count = split(uses[members[i]], list, " ")
        for (j = 1; j <= count; j++)
            if (inside[list[j]] == root) {
                one = members[i] " uses " edge[members[i], list[j]] " of " list[j]
                text = text "    " one "\n"
            }
    }
    for (i = 1; i <= size; i++)
        if (members[i] in known) {
            delete known[members[i]]
            return
        }
    print "circle of " size " files:\n" text
    failed = 1
}
function visit(file,    count, list, i, to) {
    number[file] = low[file] = ++visited
    stack[++depth] = file
    waiting[file] = 1
    count = split(uses[file], list, " ")
    for (i = 1; i <= count; i++) {
        to = list[i]
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
BEGIN {
    read_rooms()
    count = split(ENVIRON["known"], list, " ")
    for (i = 1; i <= count; i++) known[list[i]] = 1
    count = split(ENVIRON["ops"], list, "\n")
    for (i = 1; i <= count; i++) op[list[i]] = 1
}
{
    colon = index($0, ":")
    file = file_of(substr($0, 1, colon - 1))
    count = split(substr($0, colon + 1), field, " ")
    if (!(file in known_file)) {
        known_file[file] = 1
        order[++files] = file
    }
    if (count == 2 && field[1] == "U")
        needs[++need_count] = file SUBSEP field[2]
    else if (count == 3 && field[2] ~ /[TDBRV]/) {
        # The client library has some names of its own, in place of what computes.
        if (file ~ /^client\//) in_client[field[3]] = file
        else definer[field[3]] = file
    }
}
END {
    for (n = 1; n <= need_count; n++) {
        split(needs[n], pair, SUBSEP)
        file = pair[1]
        name = pair[2]
        if (room_of(file) ~ /(^|\/)ops$/ && name in op)
            continue
        to = file ~ /^client\// && name in in_client ? in_client[name] : definer[name]
        if (to == "")
            to = in_client[name]
        if (to != "")
            use(file, to, name)
    }
    for (f = 1; f <= files; f++)
        if (!(order[f] in number))
            visit(order[f])
    for (file in known) {
        print "tests/check_calls.sh: " file " is in no circle any more: strike it from the list"
        failed = 1
    }
    printf "%d files, %d circles\n", files, circles
    exit failed
}
'
