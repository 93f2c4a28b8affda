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

# The rooms from the lowest to the highest, and which rooms each may include from, besides itself
# and csengine/: only rooms that stand above it in this list. A room is a folder of engine, workers
# or run, or a top folder; the plugins below a room belong to it. ARCHITECTURE.md draws this table.
traced='base types graph trace'
plan="$traced ops passes precision kernels codegen execute"
plugins='optimizers schedules metrics modules models'
links='workers/arena workers/messages workers/transports workers/links workers/hosts'
launching='workers/launchers workers/host_launchers'
control="$links $launching workers/control"
job="config checkpoint weights dataloader store $control workers/group"
job="$job run/callbacks run/session run/record"
tools="run/job run/measure run/contracts run/infer run/control run/hosts"
directions="
base:
types: base
config: base types
graph: base types
trace: base types graph
kernels: $traced
precision: $traced config
ops: $traced kernels precision
passes: $traced ops kernels precision
codegen: $traced ops passes kernels
execute: $traced ops passes kernels codegen
checkpoint: base types
weights: base types config checkpoint
onnx: $traced weights
optimizers: $traced
schedules: $traced
metrics: $traced
modules: $traced
models: $traced modules config
dataloader: base types config checkpoint weights
store: base types
workers/links: base
workers/hosts: base workers/links
workers/carrier: base workers/links
mpi: base workers/carrier workers/links
workers/arena: $traced passes execute dataloader workers/links workers/hosts
workers/transports: base
workers/launchers: base
workers/host_launchers: base workers/hosts workers/launchers
workers/messages: base workers/transports
workers/worker: $traced passes execute dataloader $links
workers/control: $traced execute dataloader $links $launching
workers/batch: base workers/host_launchers workers/control
workers/group: base graph kernels $links workers/control
run/loggers: base
run/callbacks: base types
run/session: $plan $plugins config checkpoint weights dataloader $control
run/record: $plan config checkpoint store run/loggers run/session workers/control
run/job: $plan $plugins $job
run/measure: $plan $job workers/worker run/job
run/contracts: $plan $plugins $job run/job
run/infer: $plan $plugins $job onnx run/job
run/control: base store workers/batch workers/control
run/hosts: base config store $links workers/host_launchers workers/control workers/batch \
    workers/group run/record run/job run/control
client: base graph kernels checkpoint weights dataloader workers/control run/session
dashboard: base types config checkpoint dataloader store workers/control workers/messages \
    workers/batch run/job run/measure
cli: $plan $plugins $job workers/batch workers/worker $tools run/loggers dashboard
"

# The parts of the upper rooms from the lowest to the highest: a part may include from those that
# stand before it. "." is the room's own folder; a folder without a name here is refused.
parts='
dataloader: identity positions files formats . tables programs pictures tokens tokenizer prepare
dataloader: inputs
dashboard: access api checks data jobs queue pages http . routes
cli: terminal arguments client runs completion data models commands .
'

# Functions with more than five parameters because a library or a standard fixes their signature.
fixed_signatures=' driver_read driver_write take_call note_header link_send h5z_decode '

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
directions=$directions parts=$parts awk '
function folder_of(path,    parts) {
    split(path, parts, "/")
    if (parts[1] == "engine") return parts[2]
    return parts[1] == "workers" || parts[1] == "run" ? parts[1] "/" parts[2] : parts[1]
}
# Where the part that a path is in stands in its room; 0: the room has no list of parts.
function place_of(path,    pieces, depth) {
    depth = split(path, pieces, "/")
    if (!(pieces[1] in listed)) return 0
    if (depth == 2) return place[pieces[1], "."]
    return (pieces[1], pieces[2]) in place ? place[pieces[1], pieces[2]] : -1
}
BEGIN {
    count = split(ENVIRON["parts"], rows, "\n")
    for (i = 1; i <= count; i++) {
        split(rows[i], row, ":")
        fields = split(row[2], names, " ")
        for (j = 1; j <= fields; j++) place[row[1], names[j]] = ++listed[row[1]]
    }
    count = split(ENVIRON["directions"], rows, "\n")
    for (i = 1; i <= count; i++) {
        split(rows[i], row, ":")
        fields = split(row[2], names, " ")
        for (j = 1; j <= fields; j++) {
            allowed[row[1], names[j]] = 1
            if (!(names[j] in known))
                print "tests/check_tidy.sh:1: " row[1] " names " names[j] \
                    ", which does not stand above it"
        }
        known[row[1]] = 1
    }
}
FNR == 1 {
    from = folder_of(FILENAME)
    if (!(from in known)) print FILENAME ":1: its folder is not in the table of include directions"
    own_place = place_of(FILENAME)
    if (own_place < 0) print FILENAME ":1: its folder is not in the table of parts"
}
/^#[ \t]*include "/ {
    split($0, quoted, "\"")
    to = folder_of(quoted[2])
    if (quoted[2] !~ /\//) {
        if (quoted[2] != "config.h")
            print FILENAME ":" FNR ": \"" quoted[2] "\" is no path from the root of the tree"
    } else if (to != "csengine" && to != from && !((from, to) in allowed))
        print FILENAME ":" FNR ": " from " may not include from " to
    else if (to == from && place_of(quoted[2]) > own_place && own_place > 0)
        print FILENAME ":" FNR ": " quoted[2] " stands in a higher part of the room"
}
' $(echo "$c_files" | grep -E '^(engine|dataloader|store|workers|run|cli|dashboard)/') >>"$found"

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
        case $sanitizers:$reason in
        *: | [!nab]*)
            echo "tests/sanitizers.txt:1: no sanitizers or reason for $pattern" >>"$found"
            ;;
        esac
    done
fi

count=$(wc -l <"$found")
sort -t: -k1,1 -k2,2n "$found"
echo "$(echo $c_files $script_files | wc -w) files, $((count)) violations"
[ "$count" -eq 0 ]
