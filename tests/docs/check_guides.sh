#!/bin/sh
# Every command of the guides runs, in the order of the page, in a folder of its own: blocks marked
# `sh` are executed by one shell that ends at the first failure, and where "# -> TEXT" follows a
# command, what it printed holds TEXT. A code block behind "<!-- file NAME -->" is saved as NAME
# first. A page shows the shipped configuration as it is: a block behind "<!-- same as FILE -->"
# equals that file of the tree.
#
# Reference pages (precision.md, install.md, ...) show commands with placeholders and are not run.
# A run takes a part of the pages, which CSE_TEST_PART chooses, and those that the file
# $CSE_TEST_CHANGED lists; GUIDES names pages instead.
set -u
[ "${CSE_SANITIZE:-no}" = no ] || { echo "a sanitizer makes training slow: skipped"; exit 77; }
csengine=${CSENGINE_EXECUTABLE:-./csengine}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
source=$(cd "${top_srcdir:-.}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
. "$source/tests/support/part.sh"
for tool in curl pkg-config; do
    command -v "$tool" >/dev/null || { echo "$tool is missing: skipped"; exit 77; }
done
work=$(mktemp -d)
finish() {
    for lock in "$work"/*/model_dir/*/run.lock "$work"/*/runs/*/run.lock; do
        [ -f "$lock" ] && "$csengine" kill "${lock%/run.lock}" >/dev/null 2>&1
    done
    for pid in $(cat "$work"/*.background 2>/dev/null); do kill "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap finish EXIT

# What a user finds after an installation: the program in PATH, the library by pkg-config, a Python
# with h5py (the first python3 may not be Debian's).
mkdir "$work/bin"
ln -s "$csengine" "$work/bin/csengine"
for choice in ${PYTHON:-} python3 /usr/bin/python3; do
    "$choice" -c 'import h5py, numpy' 2>/dev/null || continue
    ln -s "$(command -v "$choice")" "$work/bin/python3"
    break
done
[ -e "$work/bin/python3" ] || { echo "python3 with h5py is missing: skipped"; exit 77; }
cat >"$work/csengine.pc" <<END
Name: csengine
Description: the build under test
Version: 0
Cflags: -I$source/include -I$build/include
Libs: -L$build/.libs -Wl,-rpath,$build/.libs -lcsengine
END
PATH=$work/bin:$PATH
PKG_CONFIG_PATH=$work
CSENGINE_EXECUTABLE=$csengine
HOME=$work/home
XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$HOME" "$XDG_RUNTIME_DIR"
export PATH PKG_CONFIG_PATH CSENGINE_EXECUTABLE HOME XDG_RUNTIME_DIR
unset CSE_SERVER CSE_TOKEN_FILE CSE_DASHBOARD

# Writes the page's script, and its files below `folder`.
unpack() { # page folder
    awk -v folder="$2" -v script="$2.sh" '
        function quoted(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
        function emit(command, expected) {
            printf "run %d %s %s\n", NR, quoted(command), quoted(expected) >>script
        }
        /^<!-- file .* -->$/ { name = $3; next }
        /^<!-- same as .* -->$/ { same = $4; next }
        /^```/ && inside == "" {
            inside = name != "" ? "file" : same != "" ? "same" : substr($0, 4)
            if (inside == "") inside = "plain"
            target = inside == "file" ? folder "/" name : folder ".same/" same
            if (inside == "file" || inside == "same") {
                command = target; sub(/\/[^\/]*$/, "", command)
                system("mkdir -p " command)
                command = ""
                printf "" >target
            }
            next
        }
        /^```$/ { if (inside == "file" || inside == "same") close(target)
                  inside = name = same = ""; next }
        inside == "file" || inside == "same" { print >>target; next }
        inside == "sh" && (joined != "" || /[^ ]/) {
            if (joined == "" && /^#/) next
            expected = ""
            line = $0
            if (match(line, / *# (.* )?-> /)) {
                expected = substr(line, RSTART + RLENGTH)
                line = substr(line, 1, RSTART - 1)
            }
            joined = joined line "\n"
            if (line ~ /[\\|]$/) next
            emit(joined, expected)
            joined = ""
        }' "$1"
}

cat >"$work/run.sh" <<'SCRIPT'
set -u
page=$1
ran=0
run() { # line command expected
    ran=$((ran + 1))
    # A redirection keeps what is asked for with it; a background command is known by its number.
    eval "$2" >"$output" 2>&1 </dev/null || {
        echo "FAIL: $page:$1: exit code $?: $2"
        tail -n 20 "$output"
        exit 1
    }
    case $2 in *'&
') echo "$!" >>"$background" ;; esac
    [ -z "$3" ] || grep -qF -e "$3" "$output" && return 0
    echo "FAIL: $page:$1: no '$3' in the output of: $2"
    tail -n 20 "$output"
    exit 1
}
. "$2"
echo "$page: $ran commands"
SCRIPT

failures=0
guides="docs/tutorial.md docs/your_data.md docs/own_files.md docs/data.md docs/models.md
    docs/modelzoo.md docs/inference.md docs/your_model.md docs/your_plugins.md docs/your_program.md
    docs/which_precision.md docs/callbacks.md docs/sweeps.md docs/time_travel.md
    docs/sparsity.md docs/pytorch.md docs/planning.md docs/many_cores.md docs/hosts.md
    docs/several_hosts.md docs/cerebras_api.md docs/operations.md docs/troubleshooting.md README.md"
pages=${GUIDES:-}
if [ -z "$pages" ]; then
    # shellcheck disable=SC2086 # a list of words
    pages=$(part_of 3 guides $guides)
    for page in $guides; do
        case " $pages " in *" $page "*) continue ;; esac
        ! grep -qxF "$page" "${CSE_TEST_CHANGED:-/dev/null}" || pages="$pages $page"
    done
fi
for page in $pages; do
    name=$(basename "$page" .md)
    folder=$work/$name
    mkdir -p "$folder"
    cp -r "$source/configs" "$source/examples" "$folder/"
    chmod -R u+w "$folder"
    [ "$page" = README.md ] || : >"$folder.sh"
    unpack "$source/$page" "$folder"
    if [ -d "$folder.same" ]; then
        (cd "$folder.same" && find . -type f) | while read -r file; do
            diff "$source/$file" "$folder.same/$file" || echo "$page: $file" >>"$work/differs"
        done
        [ ! -s "$work/differs" ] || { failures=$((failures + 1)); cat "$work/differs"; }
    fi
    # The README's commands have a test of their own, and bootstrap is what came before this one.
    [ "$page" != README.md ] && [ -s "$folder.sh" ] || continue
    (
        cd "$folder" || exit 1
        output=$folder.output background=$folder.background
        export output background
        timeout "${GUIDE_SECONDS:-150}" sh "$work/run.sh" "$page" "$folder.sh"
    ) || failures=$((failures + 1))
done
[ "$failures" = 0 ]
