#!/bin/sh
# Commands to runs that are batch jobs of Slurm, from a host that is none of their nodes, on two
# nodes of a Slurm of its own (tests/support/slurm.sh): pause, resume, scale and checkpoint by the
# command line and over a server's API reach the run, and the weights are those of a run that nobody
# disturbed. The host of the commands does not see the lock of the run, as on a shared file system
# that carries none. Jobs that wait or have ended, nodes without the program, and a host without
# srun are told as such.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
. "$top_srcdir/tests/support/slurm.sh"
source=$(cd "$top_srcdir" && pwd)
slurm_enter "$0" "$@"
failed=0
complain() {
    echo "FAIL: $*"
    for log in "$hosts_folder"/*.out "$hosts_folder"/*/logs/batch.log \
        "$hosts_folder"/queue/*/logs/batch.log; do
        [ -e "$log" ] && echo "== $log" && tail -n 8 "$log"
    done
    failed=1
}
expect() { # pattern, file
    grep -q -- "$1" "$2" || complain "$2 has no \"$1\""
}

hosts_make 2
slurm_start
HOME=$hosts_folder
export HOME
work=$hosts_folder
steps=100000000 # the run ends when it is told to
config=$work/run.yaml
sed "s/num_steps: [0-9]*/num_steps: $steps/" "$source/configs/synthetic.yaml" >"$config"
flags="--set fit.val_dataloader=null --set checkpoint.steps=1000000000
    --set logging.log_steps=1000000000 --set backend.cluster_config.num_csx=2"
job_of() { cat "$work/$1/logs/batch_job"; }
stored() { # folder, SQL: the first value
    python3 - "$work/$1/run.db" "$2" 2>/dev/null <<'VALUE'
import sqlite3, sys
with sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True) as db:
    print(db.execute(sys.argv[2]).fetchone()[0])
VALUE
}
is_state() { # folder, state
    [ "$(stored "$1" 'SELECT to_state FROM transitions ORDER BY seq DESC LIMIT 1')" = "$2" ]
}
replicas() { # folder, how many of them the run says that it has
    [ "$(stored "$1" "SELECT value FROM run WHERE key = 'num_csx'")" = "$2" ]
}
saved() { ls "$work/$1" | grep -q '^checkpoint_[1-9][0-9]*\.mdl$'; }
# This host has another file in place of the lock: what the nodes hold is not seen here.
hide_lock() { # folder
    : >"$work/no_lock"
    mount --bind "$work/no_lock" "$work/$1/run.lock"
    flock -n "$work/$1/run.lock" true || complain 'the lock is seen'
}
steer() { # name of what is steered, its folder, words that name it to csengine
    what=$1 folder=$2
    shift 2
    tell() { # command, what it answers, further arguments
        command=$1 pattern=$2
        shift 2
        "$csengine" "$command" "$@" >"$work/$what.out" 2>&1 || complain "$what: $command"
        expect "$pattern" "$work/$what.out"
    }
    tell pause 'pauses' "$@" --message 'to look at it'
    slurm_wait 20 "$what does not pause" is_state "$folder" PAUSED
    expect 'to look at it' "$work/$folder/run.db-wal"
    tell scale '' "$@" --num_csx 1
    slurm_wait 20 "$what does not scale" replicas "$folder" 1
    saved "$folder" && complain "$what: it has a checkpoint already"
    tell checkpoint '' save "$@"
    slurm_wait 20 "$what saves nothing" saved "$folder"
    is_state "$folder" PAUSED || complain "$what does not stay paused"
    tell resume 'goes on' "$@"
    slurm_wait 20 "$what does not go on" is_state "$folder" RUNNING
    tell scale '' "$@" --num_csx 2
    slurm_wait 20 "$what does not scale back" replicas "$folder" 2
}

# The last checkpoint's digest is that of a run alone with as many steps.
same_as_alone() { # folder
    step=$(ls "$work/$1" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p' | sort -n | tail -n 1)
    sed "s/num_steps: [0-9]*/num_steps: ${step:-1}/" "$config" >"$work/short.yaml"
    # shellcheck disable=SC2086 # one word each
    "$csengine" start "$work/short.yaml" --model_dir "$work/alone_$1" --no_dashboard $flags \
        >"$work/alone.out" 2>&1 || complain 'a run alone'
    right=$(sed -n 's/^Weights digest: //p' "$work/alone.out")
    [ -n "$right" ] && grep -q "$right" "$work/$1/logs/batch.log" ||
        complain "$1: the weights after $step steps"
    echo "$1: $step steps, $right"
}

# By the command line.
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$work/batch" $flags --launcher slurm \
    --launcher_options --nodes=2 --detach >"$work/batch.out" 2>&1 || complain 'start'
slurm_wait 60 'the run does not begin' slurm_run_began "$work/batch"
hide_lock batch
steer batch batch "$work/batch"
"$csengine" cancel "$work/batch" >"$work/batch.out" 2>&1 || complain cancel
slurm_wait 60 'the run does not end' is_state batch CANCELLED
same_as_alone batch

# Over a server's API, as the dashboard gives commands, and by the command line of a third host.
server="--server unix:$work/socket"
"$csengine" serve --root "$work/queue" --listen "unix:$work/socket" --allow_launcher slurm \
    >"$work/serve.out" 2>&1 &
serving=$!
slurm_wait 20 'the server does not listen' test -S "$work/socket"
submit() { # id, arguments...
    id=$1
    shift
    # shellcheck disable=SC2086 # one word each
    "$csengine" submit "$config" $server --id "$id" $flags --launcher slurm "$@" \
        >"$work/$id.out" 2>&1 || complain "submit $id"
}
state_of() {
    # shellcheck disable=SC2086 # one word each
    "$csengine" get job "$1" $server --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'
}
is_told() { [ "$(state_of "$1")" = "$2" ]; }
tools=$PATH
fails() { # exit code, pattern, words of the command...
    right=$1 pattern=$2
    shift 2
    PATH=$tools "$csengine" "$@" >"$work/fails.out" 2>&1
    code=$?
    [ "$code" -eq "$right" ] || complain "$*: exit code $code, not $right"
    expect "$pattern" "$work/fails.out"
}
filters() { sed -n 's/^Seccomp_filters:[^0-9]*//p' "$1"; }
own_filters=$(filters /proc/self/status)
confinement() { # folder: how many filters of system calls its coordinator has, on its host
    on=$(stored "$1" "SELECT value FROM run WHERE key = 'host'")
    pid=$(stored "$1" "SELECT value FROM run WHERE key = 'pid'")
    hosts_on "$on" cat "/proc/$pid/status" >"$work/status"
    filters "$work/status"
}
submit job --launcher_options --nodes=2
slurm_wait 60 'a submitted job does not run' slurm_run_began "$work/queue/job"
hide_lock queue/job
slurm_wait 20 'the server does not see that it runs' is_told job RUNNING
# The kernel holds its workers on both nodes; not what starts them, which starts programs elsewhere.
[ "$(confinement queue/job)" = "$own_filters" ] || complain 'a job of two nodes is confined'
held_workers() { # how many workers of the job are held by a filter, and how many are not
    for pid in $(pgrep -f '^[^ ]*csengine worker '); do
        tr '\0' '\n' <"/proc/$pid/environ" | grep -qx "HOME=$HOME" || continue
        [ "$(filters "/proc/$pid/status")" -gt "$own_filters" ] && echo held || echo free
    done 2>/dev/null | sort | uniq -c | tr -s ' \n' ' '
}
workers=$(held_workers)
case $workers in
*free* | '') complain "workers of a job of two nodes: ${workers:-none}" ;;
*) echo "workers of a job of two nodes:$workers" ;;
esac
# shellcheck disable=SC2086 # one word each
steer job queue/job job $server
# shellcheck disable=SC2086 # one word each
tell pause 'pauses' job $server
slurm_wait 20 'the server does not see that it is paused' is_told job PAUSED
# A job that waits: the nodes are taken. It has no process yet that could be told anything.
submit waits --launcher_options --nodes=2
is_queued() { [ "$(squeue -h -t PENDING -o %i 2>/dev/null | wc -l)" -eq 1 ]; }
slurm_wait 30 'the second job does not wait' is_queued
# shellcheck disable=SC2086 # one word each
fails 1 'pause makes no sense then' pause waits $server
# shellcheck disable=SC2086 # one word each
"$csengine" cancel waits $server >"$work/waits.out" 2>&1 || complain 'cancel waits'
slurm_wait 30 'a job that waits is not cancelled' is_told waits CANCELLED
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$work/later" $flags --launcher slurm \
    --launcher_options --nodes=2 --detach >"$work/later.out" 2>&1 || complain 'start'
slurm_wait 30 'the third job does not wait' is_queued
fails 75 'does not run: PENDING' pause "$work/later"
"$csengine" cancel "$work/later" >"$work/later.out" 2>&1 || complain 'cancel later'
expect "taken out of Slurm's queue" "$work/later.out"
fails 69 'has ended: CANCELLED' pause "$work/later"

# More replicas than it began with: it ends with a checkpoint, and Slurm gets another job.
first=$(job_of queue/job)
# shellcheck disable=SC2086 # one word each
tell resume 'goes on' job $server
slurm_wait 20 'the job does not go on' is_told job RUNNING
# shellcheck disable=SC2086 # one word each
tell scale 'goes on with 3 replicas' job $server --num_csx 3
began_again() { [ "$(job_of queue/job 2>/dev/null)" != "$first" ] && replicas queue/job 3; }
slurm_wait 90 'the job does not begin again' began_again
slurm_wait 60 'the server does not see that it runs again' is_told job RUNNING
# shellcheck disable=SC2086 # one word each
"$csengine" cancel job $server >"$work/job.out" 2>&1 || complain 'cancel job'
slurm_wait 60 'the job does not end' is_told job CANCELLED
same_as_alone queue/job
# shellcheck disable=SC2086 # one word each
fails 1 'pause makes no sense then' pause job $server

# A job of one node is confined there by the kernel, which one of two cannot be; and it is reached.
submit single --launcher_options --nodes=1
slurm_wait 60 'the job of one node does not run' slurm_run_began "$work/queue/single"
[ "$(confinement queue/single)" -gt "$own_filters" ] || complain 'a job of one node is not confined'
# shellcheck disable=SC2086 # one word each
tell pause 'pauses' single $server
slurm_wait 20 'the job of one node does not pause' is_state queue/single PAUSED
# shellcheck disable=SC2086 # one word each
"$csengine" cancel single $server >"$work/single.out" 2>&1 || complain 'cancel single'
slurm_wait 60 'the job of one node does not end' is_told single CANCELLED
same_as_alone queue/single
kill -TERM $serving
wait $serving

# What is missing.
fails 69 'has ended: FAILED\|has ended: COMPLETED\|does not know it any more' pause "$work/batch"
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$work/last" $flags --launcher slurm \
    --launcher_options --nodes=2 --detach >"$work/last.out" 2>&1 || complain 'start'
slurm_wait 60 'the last run does not begin' slurm_run_began "$work/last"
mkdir "$work/no_tools"
csengine_here=$csengine
mkdir /run/only_here && cp "$csengine" /run/only_here/csengine
csengine=/run/only_here/csengine
hosts_on n1 mount -t tmpfs none /run/only_here
fails 69 'there is no /run/only_here/csengine there' pause "$work/last"
csengine=$csengine_here
tools=$work/no_tools
fails 69 "Slurm's commands are needed" pause "$work/last"
tools=$PATH
scontrol update NodeName=n1 State=DRAIN Reason=test
tell pause 'pauses' "$work/last" # a drained node keeps what runs on it
slurm_wait 20 'a run on a drained node does not pause' is_state last PAUSED
# A server that shows this one run, whoever started it.
"$csengine" serve --run "$work/last" --listen "unix:$work/one" >"$work/serve_one.out" 2>&1 &
serving=$!
slurm_wait 20 'the server of a run does not listen' test -S "$work/one"
tell resume 'goes on' last --server "unix:$work/one"
slurm_wait 20 'a run does not go on by its server' is_state last RUNNING
tell kill '' last --server "unix:$work/one"
kill -TERM $serving
wait $serving
gone() { [ -z "$(squeue -h 2>/dev/null)" ]; }
slurm_wait 60 'the last job does not end' gone
exit $failed
