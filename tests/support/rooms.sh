# The rooms from the lowest to the highest, and which rooms each may include from, besides itself
# and csengine/: only rooms that stand above it in this list. A room is a folder (engine/ is left
# out of its name) with all that is below it, but for rooms of their own. ARCHITECTURE.md draws this
# table. tests/check_tidy.sh holds includes against it, tests/check_calls.sh the names that objects
# use, and both read it by these functions of awk.
traced='base types graph trace'
plan="$traced ops passes precision kernels codegen execute"
nn='nn optimizers schedules metrics modules models'
links='workers/arena workers/messages workers/transports workers/links workers/hosts'
launching='workers/launchers workers/host_launchers'
control="$links $launching workers/control"
job="config checkpoint weights dataloader store $control workers/group"
job="$job run/session run/record"
tools="run/job run/callbacks run/measure run/contracts run/infer run/control run/hosts"
directions="
base:
types: base
config: base types
graph: base types
trace: base types graph
kernels: $traced
ops: $traced kernels
precision: $traced ops config
passes: $traced ops kernels precision
codegen: $traced ops passes kernels
execute: $traced ops passes kernels codegen
checkpoint: base types
weights: base types config checkpoint
onnx: $traced weights
nn: $plan config checkpoint
optimizers: $traced
schedules: $traced
metrics: $traced
modules: $traced ops nn
models: $traced ops modules config
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
workers/group: base graph kernels execute $links workers/control
run/loggers: base
run/session: $plan $nn config checkpoint weights dataloader $control
run/record: $plan config checkpoint store run/loggers run/session workers/control
run/job: $plan $nn $job
run/callbacks: base types run/job
run/measure: $plan $job workers/worker run/job
run/contracts: $plan $nn $job run/job run/callbacks
run/infer: $plan $nn $job onnx run/job
run/control: base store workers/batch workers/control
run/hosts: base config store $links workers/host_launchers workers/control workers/batch \
    workers/group run/record run/job run/control
client: base graph kernels checkpoint weights dataloader workers/control run/session
dashboard: base types config checkpoint dataloader store workers/control workers/messages \
    workers/batch run/job run/measure
bench: $plan config checkpoint weights store dataloader $links workers/carrier workers/control \
    run/session run/job run/measure
cli: $plan $nn $job workers/batch workers/worker $tools run/loggers dashboard
"
# The parts of the upper rooms from the lowest to the highest: a part may include from those that
# stand before it. "." is the room's own folder; a folder without a name here is refused.
parts='
dataloader: identity positions files formats . tables programs pictures tokens tokenizer prepare
dataloader: inputs
dashboard: access api checks data jobs queue pages http . routes
cli: terminal arguments client runs completion data models commands .
'
room_functions='
function read_rooms(    count, rows, i, row, fields, names, j) {
    count = split(ENVIRON["directions"], rows, "\n")
    for (i = 1; i <= count; i++) {
        split(rows[i], row, ":")
        fields = split(row[2], names, " ")
        for (j = 1; j <= fields; j++) {
            allowed[row[1], names[j]] = 1
            if (!(names[j] in rooms))
                print "tests/support/rooms.sh:1: " row[1] " names " names[j] \
                    ", which does not stand above it"
        }
        rooms[row[1]] = i
    }
    count = split(ENVIRON["parts"], rows, "\n")
    for (i = 1; i <= count; i++) {
        split(rows[i], row, ":")
        fields = split(row[2], names, " ")
        for (j = 1; j <= fields; j++) place[row[1], names[j]] = ++listed[row[1]]
    }
}
# Where the part that a path is in stands in its room; 0: the room has no list of parts.
function place_of(path,    pieces, depth) {
    depth = split(path, pieces, "/")
    if (!(pieces[1] in listed)) return 0
    if (depth == 2) return place[pieces[1], "."]
    return (pieces[1], pieces[2]) in place ? place[pieces[1], pieces[2]] : -1
}
function room_of(path) {
    sub(/^engine\//, "", path)
    while (sub(/\/[^\/]*$/, "", path))
        if (path in rooms)
            return path
    return ""
}
'
