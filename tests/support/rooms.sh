# The rooms from the lowest to the highest, and which rooms each may include from, besides itself
# and csengine/: only rooms that stand above it in this list. A room is a folder (engine/ is left
# out of its name) with all that is below it, but for rooms of their own. ARCHITECTURE.md draws this
# table. tests/check_tidy.sh holds includes against it, tests/check_calls.sh the names that objects
# use, and both read it by these functions of awk.
traced='base base/types graph graph/trace'
plan="$traced graph/ops graph/passes graph/precision code/kernels code/codegen code/execute"
nn='nn nn/optimizers nn/schedules nn/metrics nn/modules nn/models nn/objectives'
links='workers/placement workers/arena workers/messages workers/transports'
links="$links workers/links workers/hosts"
launching='workers/launchers workers/host_launchers'
control="$links $launching workers/control"
job="base/config formats/checkpoint formats/weights dataloader store $control workers/group"
job="$job run/session run/record run/saving run/execution"
tools="run/program run/job run/callbacks run/measure run/contracts run/infer run/control run/hosts"
tools="$tools run/travel run/sweep"
directions="
base:
base/types: base
base/config: base base/types
graph: base base/types
graph/trace: base base/types graph
code/kernels: $traced
graph/ops: $traced code/kernels
graph/precision: $traced graph/ops base/config
graph/passes: $traced graph/ops code/kernels graph/precision
code/codegen: $traced graph/ops graph/passes code/kernels
code/execute: $traced graph/ops graph/passes code/kernels code/codegen
formats/checkpoint: base base/types
formats/weights: base base/types base/config formats/checkpoint
formats/onnx: $traced formats/weights
nn: $plan base/config formats/checkpoint
nn/optimizers: $traced
nn/schedules: $traced
nn/metrics: $traced
nn/modules: $traced graph/ops nn
nn/models: $traced graph/ops nn/modules base/config
nn/objectives: $traced graph/ops nn nn/modules base/config
dataloader: base base/types base/config formats/checkpoint formats/weights
store: base base/types
workers/links: base
workers/placement: base base/types
workers/hosts: base workers/links
workers/carrier: base workers/links
mpi: base workers/carrier workers/links
workers/arena: $traced graph/passes code/execute dataloader workers/links workers/hosts
workers/transports: base
workers/launchers: base
workers/host_launchers: base workers/hosts workers/launchers
workers/messages: base workers/transports
workers/worker: $traced graph/passes code/execute dataloader $links
workers/control: $traced code/execute dataloader $links $launching
workers/batch: base workers/host_launchers workers/control
workers/group: base graph code/kernels code/execute $links workers/control
run/loggers: base
run/alerts: base base/config store run/loggers
run/session: $plan $nn base/config formats/checkpoint formats/weights dataloader $control
run/record: $plan base/config formats/checkpoint store run/loggers run/alerts run/session \
    workers/control
run/saving: $plan $nn base/config formats/checkpoint formats/weights store $control run/session \
    run/record
run/execution: $plan $nn base/config formats/checkpoint dataloader $control run/session run/saving
run/program: base $control run/session run/record run/execution
run/job: $plan $nn $job run/alerts
run/callbacks: base base/types run/job
run/measure: $plan $job workers/worker run/job
run/travel: $plan nn $job workers/worker run/job run/measure
run/contracts: $plan $nn $job run/job run/callbacks
run/infer: $plan $nn $job formats/onnx run/job
run/control: base store workers/batch workers/control
run/sweep: base base/config
run/hosts: base base/config store $links workers/host_launchers workers/control workers/batch \
    workers/group run/record run/saving run/job run/control
client: base graph code/kernels formats/checkpoint formats/weights dataloader workers/control \
    run/session run/saving run/execution
dashboard: base base/types base/config formats/checkpoint dataloader store workers/control \
    workers/messages workers/batch run/alerts run/job run/measure \
    run/travel run/sweep
bench: run/contracts $plan base/config formats/checkpoint formats/weights store dataloader $links \
    workers/carrier workers/control run/session run/execution run/job run/measure
cli: $plan $nn $job workers/batch workers/worker $tools run/loggers run/alerts dashboard
"
# The parts of the upper rooms from the lowest to the highest: a part may include from those that
# stand before it. "." is the room's own folder; a folder without a name here is refused.
parts='
dataloader: identity positions files formats . tables programs pictures tokenizer tokens chat
dataloader: conversations prepare inputs
dashboard: access api checks data query jobs queue pages http models replays sweeps
dashboard: . routes
cli: terminal arguments client sweep runs completion data models mcp top commands .
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
