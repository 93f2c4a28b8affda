#!/bin/sh
# The coding rules that a program can check: sizes, head comments, the direction of includes,
# forbidden words and calls. One line for each violation: "path:line: what".
#
# Usage: tests/check_tidy.sh [TREE]; the tree is $top_srcdir or the current directory otherwise.
set -eu
LC_ALL=C
export LC_ALL
cd "${1:-${top_srcdir:-.}}"
found=$(mktemp)
trap 'rm -f "$found"' EXIT

. tests/support/rooms.sh

# Functions with more than five parameters because a library or a standard fixes their signature.
fixed_signatures=' driver_read driver_write take_call note_header link_send h5z_decode '
fixed_signatures="$fixed_signatures ask_permission "

folders=''
for folder in engine dataloader store workers run client cli include tests bench examples scripts \
    dashboard mpi; do
    [ -d "$folder" ] && folders="$folders $folder"
done
written() { # names: the files of the tree that people write
    find $folders -type f \( "$@" \) ! -name registry.c ! -name kinds.c \
        ! -path '*/generated/*' ! -path '*/node_modules/*' ! -name prelude_text.c \
        ! -name schema_text.c ! -name slurm_script_text.c ! -name templates_text.c \
        ! -name maps_text.c ! -name parquet_program_text.c \
        ! -path '*/__pycache__/*' | sort
}
c_files=$(written -name '*.c' -o -name '*.h')
script_files="$(written -name '*.sh' -o -name '*.awk') autogen.sh bootstrap"
[ -f .ci/run ] && script_files="$script_files .ci/run"
other_files=$(written -name '*.py' -o -name '*.yaml' -o -name '*.txt' -o -name '*.md')
for file in README.md ARCHITECTURE.md CONTRIBUTING.md configure.ac Makefile.am configs/*.yaml; do
    [ -f "$file" ] && other_files="$other_files $file"
done

# Sizes: functions, parameters, files, lines; trailing blanks; head comments.
awk '
function report(line, text) { print FILENAME ":" line ": " text }
function finish_file() {
    if (file != "" && lines > 800) print file ":" lines ": the file has " lines " lines, not 800"
}
# Parameters of the function whose signature is `text`: commas at depth one, plus one.
function parameters(text,    i, letter, depth, count) {
    for (i = index(text, "("); i <= length(text); i++) {
        letter = substr(text, i, 1)
        if (letter == "(") depth++
        if (letter == ")" && --depth == 0) break
        if (letter == "," && depth == 1) count++
    }
    return count + 1
}
function function_name(text) {
    sub(/\(.*/, "", text)
    sub(/.*[ *]/, "", text)
    return text
}
FNR == 1 {
    finish_file()
    file = FILENAME
    is_c = file ~ /\.[ch]$/
    signature = ""
    opened = head = in_comment = 0
}
{ lines = FNR }
/[ \t]$/ { report(FNR, "blanks at the end of the line") }
{
    text = $0
    gsub(/[\200-\277]/, "", text) # a UTF-8 character is one column
    if (length(text) > 100) report(FNR, "the line has " length(text) " columns; 100 at most")
}
FNR <= 2 && (is_c ? /^\/\*/ : /^# / || /^\/\*/) { head = 1 }
FNR == 2 && !head { report(1, "the head of the file does not say what it is") }
is_c && /^\/\*/ { in_comment = 1 }
is_c && in_comment { if (/\*\//) in_comment = 0; signature = ""; next }
is_c && /^\{$/ { opened = FNR; name = function_name(signature); count = parameters(signature) }
is_c && !opened {
    if (/^[A-Za-z]/ && !/;$/) signature = $0
    else if (/^[ \t]/ && signature != "" && !/;$/) signature = signature " " $0
    else if (!/^\{$/) signature = ""
}
is_c && /^\}/ && opened {
    if (FNR - opened + 1 > 70) report(opened, name "() has " FNR - opened + 1 " lines; 70 at most")
    if (count > 5 && index(fixed, " " name " ") == 0)
        report(opened, name "() has " count " parameters; 5 at most, then an options struct")
    opened = 0
    signature = ""
}
END { finish_file() }
' fixed="$fixed_signatures" $c_files $script_files >>"$found"

# Includes follow the tables.
roomed='^(engine|dataloader|store|workers|run|mpi|client|bench|cli|dashboard)/'
directions=$directions parts=$parts awk "$room_functions"'
BEGIN { read_rooms() }
FNR == 1 {
    from = room_of(FILENAME)
    if (from == "") print FILENAME ":1: its folder is not in the table of include directions"
    own_place = place_of(FILENAME)
    if (own_place < 0) print FILENAME ":1: its folder is not in the table of parts"
}
/^#[ \t]*include "/ {
    split($0, quoted, "\"")
    to = room_of(quoted[2])
    if (quoted[2] !~ /\//) {
        if (quoted[2] != "config.h")
            print FILENAME ":" FNR ": \"" quoted[2] "\" is no path from the root of the tree"
    } else if (quoted[2] !~ /^csengine\// && to != from && !((from, to) in allowed))
        print FILENAME ":" FNR ": " from " may not include " quoted[2] " of " to
    else if (to == from && own_place > 0 && place_of(quoted[2]) > own_place)
        print FILENAME ":" FNR ": " quoted[2] " stands in a higher part of the room"
}
' $(echo "$c_files" | grep -E "$roomed") >>"$found"

# Words that mark unfinished work, paths of somebody's machine, calls that overrun or start a shell.
# (Brackets keep the patterns from finding themselves.)
search() { # what pattern files...
    what=$1
    pattern=$2
    shift 2
    grep -nE "$pattern" /dev/null "$@" | sed "s|^\([^:]*:[0-9]*\):.*|\1: $what|" >>"$found" || :
}
search 'a word that marks unfinished work' \
    '(^|[^A-Za-z0-9_])(TOD[O]|FIXM[E]|XX[X]|HAC[K])([^A-Za-z0-9_]|$)' \
    $c_files $script_files $other_files
search 'a path of one particular machine' \
    '(^|[^A-Za-z0-9_.])/(hom[e]|wor[k]|User[s]|roo[t]|tmp/[a-z]*en[v])/' \
    $c_files $script_files $other_files
search 'a call that overruns its buffer or starts a shell' \
    '(^|[^A-Za-z0-9_])(strcp[y]|strca[t]|v?sprint[f]|get[s]|syste[m]|tmpna[m]|mktem[p])\(' \
    $c_files

# Every source is built, every test is run.
if [ -f sources.am ]; then
    built='^(engine|dataloader|store|workers|run|cli|dashboard)/.*\.c$'
    for file in $(echo "$c_files" | grep -E "$built"); do
        grep -qF "	$file" sources.am ||
            echo "$file:1: not in sources.am: run ./autogen.sh --lists-only" >>"$found"
    done
    for file in $(echo "$c_files" | grep -E '^tests/.*check_[^/]*\.c$'); do
        grep -qF "	${file%.c}" sources.am ||
            echo "$file:1: not in sources.am: run ./autogen.sh --lists-only" >>"$found"
    done
fi

# Every line about the tests under sanitizers is about a test.
if [ -f tests/sanitizers.txt ]; then
    grep -v '^#' tests/sanitizers.txt | while read -r pattern sanitizers reason; do
        ls $pattern "$pattern.c" 2>/dev/null | grep -q . ||
            echo "tests/sanitizers.txt:1: no test fits $pattern" >>"$found"
        case $sanitizers in
        none | address | address/[2-9] | both | both/[2-9]) ;;
        *) reason= ;;
        esac
        [ -n "$reason" ] ||
            echo "tests/sanitizers.txt:1: no sanitizers or reason for $pattern" >>"$found"
    done
fi

# Every line about tests that are left out or may be skipped is about a test, and a test that is
# skipped without other people's Python packages has its line: its skip fails .ci/run otherwise.
for list in tests/long.txt tests/allowed_skips.txt; do
    [ -f $list ] || continue
    grep '^tests/' $list | while read -r test reason; do
        ls "$test" "$test.sh" "$test.c" 2>/dev/null | grep -q . && [ -n "$reason" ] ||
            echo "$list:1: no test $test, or no reason for it" >>"$found"
    done
done
if [ -f tests/allowed_skips.txt ]; then
    for test in $(grep -rl --include='check_*.sh' '=\$(python_with ' tests); do
        grep -q "^${test%.sh} " tests/allowed_skips.txt ||
            echo "$test:1: it may be skipped, and tests/allowed_skips.txt does not name it" \
                >>"$found"
    done
fi

count=$(wc -l <"$found")
sort -t: -k1,1 -k2,2n "$found"
echo "$(echo $c_files $script_files | wc -w) files, $((count)) violations"
[ "$count" -eq 0 ]
