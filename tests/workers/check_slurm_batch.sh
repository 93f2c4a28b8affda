#!/bin/sh
# `csengine start --launcher slurm` on two nodes of a Slurm of its own (tests/support/slurm.sh): the
# run is a batch job whose output the command shows; a command that was killed finds its job again;
# Ctrl-C ends the job with a checkpoint; a job that gives way is put back by its own script. A
# server that allows it submits jobs so, and cancels and kills them. All end with the weights of a
# run that nobody disturbed.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
. "$top_srcdir/tests/support/slurm.sh"
source=$(cd "$top_srcdir" && pwd)
slurm_enter "$0" "$@"
failed=0
complain() {
    echo "FAIL: $*"
    for log in "$hosts_folder"/*.out "$hosts_folder"/queue/*/start.log; do
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
config=$hosts_folder/run.yaml
set_steps() { # the run's last step, in the configuration that the job reads
    sed "s/num_steps: [0-9]*/num_steps: $1/" "$source/configs/synthetic.yaml" >"$config"
}
flags="--compile_dir $hosts_folder/compiled --set fit.val_dataloader=null
    --set checkpoint.steps=1000000000 --set logging.log_steps=1000000000"
# shellcheck disable=SC2086 # one word each
start() { # name, further arguments...
    name=$1
    shift
    ${starter-} "$csengine" start "$config" --model_dir "$hosts_folder/$name" $flags \
        --launcher slurm --launcher_options '--nodes=2 --job-name=test' "$@"
}
begin() { # likewise, for the background: the command takes the shell's place
    starter="exec"
    start "$@"
}
job_of() { cat "$hosts_folder/$1/logs/batch_job"; }
ended() { ! kill -0 "$1" 2>/dev/null; }
digest_in() { grep 'Weights digest' "$1" | tail -n 1; }

# A whole run, and what it must give.
set_steps 300
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$hosts_folder/alone" --no_dashboard $flags \
    >"$hosts_folder/alone.out" 2>&1 || complain 'a run alone'
start whole >"$hosts_folder/whole.out" 2>&1 || complain "exit code $?"
expect 'Slurm job [0-9]*; its output' "$hosts_folder/whole.out"
expect 'Training completed' "$hosts_folder/whole.out"
[ -n "$(digest_in "$hosts_folder/alone.out")" ] &&
    [ "$(digest_in "$hosts_folder/whole.out")" = "$(digest_in "$hosts_folder/alone.out")" ] ||
    complain 'the weights of a batch job'
[ ! -e "$hosts_folder/whole/logs/batch_job" ] || complain 'the number of an ended job stays'

# Killed and started again, it finds its job; USR1 to the script puts the job back, SIGINT ends it.
set_steps 100000000
begin cut >"$hosts_folder/cut1.out" 2>&1 &
waiting=$!
slurm_wait 60 'the run does not begin' slurm_run_began "$hosts_folder/cut"
job=$(job_of cut)
kill -KILL $waiting
wait $waiting 2>/dev/null
begin cut >"$hosts_folder/cut2.out" 2>&1 &
waiting=$!
has_again() { grep -q "has this run already, as job $job" "$hosts_folder/cut2.out"; }
slurm_wait 20 'the job is not found again' has_again
scancel --batch --signal=USR1 "$job"
is_back() { grep -q "Slurm job $job: PENDING" "$hosts_folder/cut2.out"; }
slurm_wait 60 'the job is not put back' is_back
scontrol update "JobId=$job" StartTime=now
# Where its first look comes late, it has not seen the job run before.
runs_again() {
    sed -n "/Slurm job $job: PENDING/,\$p" "$hosts_folder/cut2.out" |
        grep -q "Slurm job $job: RUNNING"
}
slurm_wait 60 'the job does not run again' runs_again
sleep 3
kill -INT $waiting
slurm_wait 60 'the job does not end' ended $waiting
wait $waiting
code=$?
[ $code -eq 130 ] || complain "ended by a signal with exit code $code, not 130"
saved=$(ls "$hosts_folder/cut" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p' | sort -n | tail -n 1)
[ "${saved:-0}" -gt 0 ] || complain 'no checkpoint'
[ -z "$(squeue -h -j "$job" 2>/dev/null)" ] || complain 'the job is still there'
set_steps $((${saved:-0} + 200))
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$hosts_folder/straight" --no_dashboard $flags \
    >"$hosts_folder/straight.out" 2>&1 || complain 'a run alone'
start cut >"$hosts_folder/cut3.out" 2>&1 || complain "exit code $?"
[ "$(digest_in "$hosts_folder/cut3.out")" = "$(digest_in "$hosts_folder/straight.out")" ] ||
    complain 'the weights after kills, a requeue and Ctrl-C'

# An array instead of putting back, one task at a time.
set_steps 100000000
begin array --launcher_options '--nodes=2 --array=1-3%1 --no-requeue' \
    >"$hosts_folder/array.out" 2>&1 &
waiting=$!
slurm_wait 60 'the first task does not begin' slurm_run_began "$hosts_folder/array"
sleep 2
saved_of() { ls "$hosts_folder/$1" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p'; }
set_steps 1 # the next task has nothing left to do
scancel --batch --signal=USR1 "$(job_of array)_1"
slurm_wait 90 'the array does not end' ended $waiting
wait $waiting || complain "an array whose second task completes: exit code $?"
expect 'the next task goes on' "$hosts_folder/array/logs/batch.log"
[ -n "$(saved_of array)" ] || complain 'the first task saved nothing'

# Mistakes.
mistake() { # exit code, pattern, arguments...
    code=$1 pattern=$2
    shift 2
    start wrong "$@" >"$hosts_folder/wrong.out" 2>&1
    [ $? -eq "$code" ] || complain "$* does not end with exit code $code"
    expect "$pattern" "$hosts_folder/wrong.out"
}
mistake 64 'has no meaning with --launcher slurm' --hosts a,b
mistake 78 'option "--output=/etc/passwd" is none that a job may have; accepted: --account=' \
    --launcher_options '--output=/etc/passwd'
mistake 69 'sbatch ended with exit code' --launcher_options '--partition=none'

# Over a server's API.
"$csengine" serve --root "$hosts_folder/queue" --listen "unix:$hosts_folder/socket" \
    --allow_launcher slurm >"$hosts_folder/serve.out" 2>&1 &
server=$!
slurm_wait 20 'the server does not listen' test -S "$hosts_folder/socket"
submit() { # id, arguments...
    id=$1
    shift
    # shellcheck disable=SC2086 # one word each
    "$csengine" submit "$config" --server "unix:$hosts_folder/socket" --id "$id" \
        --set fit.val_dataloader=null --set checkpoint.steps=1000000000 \
        --set logging.log_steps=1000000000 --launcher slurm --launcher_options --nodes=2 "$@"
}
state_of() {
    "$csengine" get job "$1" --server "unix:$hosts_folder/socket" --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])'
}
is_in() { [ "$(state_of "$1")" = "$2" ]; }
set_steps 300
submit one >"$hosts_folder/one.out" 2>&1 || complain 'submit'
slurm_wait 90 'a submitted job does not succeed' is_in one SUCCEEDED
grep -q "$(digest_in "$hosts_folder/alone.out" | sed 's/.* //')" \
    "$hosts_folder/queue/one/logs/batch.log" || complain 'the weights of a submitted job'
set_steps 100000000
for how in cancel kill; do
    submit $how >"$hosts_folder/$how.out" 2>&1 || complain 'submit'
    slurm_wait 60 "the job to $how does not run" is_in $how RUNNING
    job=$(job_of queue/$how)
    "$csengine" $how $how --server "unix:$hosts_folder/socket" >>"$hosts_folder/$how.out" 2>&1 ||
        complain "$how"
    slurm_wait 60 "the job does not end after $how" is_in $how CANCELLED
    has_left() { [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; }
    slurm_wait 30 "Slurm's job stays after $how" has_left
done
submit far --launcher_options '--chdir=/etc' >"$hosts_folder/far.out" 2>&1 &&
    complain 'an option that is not accepted'
expect 'option "--chdir=/etc" is none that a job may have' "$hosts_folder/far.out"
kill -TERM $server
wait $server
exit $failed
