#!/bin/sh
# `csengine start --launcher slurm` where there is no Slurm: sbatch, scontrol and scancel are
# scripts of this test, which run the batch script on this host and say what Slurm would say. The
# same on a real Slurm is in tests/workers/check_slurm_batch.sh, which is not everywhere. Skipped
# without python3.
set -u
command -v python3 >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
csengine=${CSENGINE_EXECUTABLE:-./csengine}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
# A command that waits for its job waits as long as Slurm does not tell its end.
trap 'kill $(cat "$work/slurm/pid" 2>/dev/null) 2>/dev/null; pkill -KILL -f "$work/queue/"
    rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}
expect() { # pattern, file
    grep -q -- "$1" "$2" || fail "$2 has no \"$1\": $(cat "$2")"
}
wait_for() { # what, command...
    what=$1
    shift
    for _ in $(seq 600); do
        "$@" && return
        sleep 0.1
    done
    fail "$what"
}

mkdir "$work/bin" "$work/slurm"
cat >"$work/bin/sbatch" <<'SBATCH'
#!/bin/sh
# Keeps its options, and runs the script as job 7.
slurm=$(dirname "$0")/../slurm
echo "$*" >>"$slurm/submitted"
[ ! -e "$slurm/refuses" ] || { echo 'sbatch: error: no such partition' >&2; exit 1; }
output=/dev/null
while :; do
    case $1 in
    --output=*) output=${1#--output=} ;;
    --*) ;;
    *) break ;;
    esac
    shift
done
echo RUNNING >"$slurm/state"
(
    SLURM_JOB_ID=7 SLURM_JOB_NODELIST=$(hostname) SLURM_JOB_NUM_NODES=1
    export SLURM_JOB_ID SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES
    # As Slurm's daemon starts it: with no signal blocked, which a shell cannot say.
    python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_SETMASK, [])
os.execvp("sh", ["sh", *sys.argv[1:]])' "$@" >>"$output" 2>&1 &
    echo $! >"$slurm/pid"
    wait $!
    code=$?
    echo "$code:0" >"$slurm/code"
    [ $code -eq 0 ] && echo COMPLETED >"$slurm/state" || echo FAILED >"$slurm/state"
) >/dev/null 2>&1 </dev/null &
echo 7
SBATCH
cat >"$work/bin/scontrol" <<'SCONTROL'
#!/bin/sh
slurm=$(dirname "$0")/../slurm
case "$*" in
'requeue 7') exit 1 ;;
esac
[ ! -e "$slurm/silent" ] || { echo 'Unable to contact slurm controller' >&2; exit 1; }
[ -e "$slurm/state" ] || { echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1; }
echo "JobId=7 JobName=csengine JobState=$(cat "$slurm/state") Reason=None BatchHost=n1" \
    "ExitCode=$(cat "$slurm/code" 2>/dev/null || echo 0:0) Restarts=0"
SCONTROL
cat >"$work/bin/scancel" <<'SCANCEL'
#!/bin/sh
slurm=$(dirname "$0")/../slurm
echo "$*" >>"$slurm/cancelled"
case "$*" in
'--batch --signal=TERM 7') kill -TERM "$(cat "$slurm/pid")" ;;
7) kill -KILL "$(cat "$slurm/pid")" ;;
esac
SCANCEL
cat >"$work/bin/srun" <<'SRUN'
#!/bin/sh
# A step of the job: on this host, which has the name n1.
slurm=$(dirname "$0")/../slurm
echo "$*" >>"$slurm/steps"
while :; do
    case $1 in
    --*) shift ;;
    *) break ;;
    esac
done
[ ! -e "$slurm/hangs" ] || exec sleep 1000
exec "$@"
SRUN
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH
CSE_DASHBOARD=0
export PATH CSE_DASHBOARD
cd "$work" || exit 1
set_steps() { # the run's last step
    sed "s/num_steps: [0-9]*/num_steps: $1/" "$source/configs/synthetic.yaml" >run.yaml
}
flags="--compile_dir $work/compiled --set fit.val_dataloader=null
    --set checkpoint.steps=1000000000 --set logging.log_steps=1000000000"
# shellcheck disable=SC2086 # one word each
start() { # name, further arguments...
    name=$1
    shift
    ${starter-} "$csengine" start run.yaml --model_dir "$work/$name" $flags --launcher slurm "$@"
}
begin() { # likewise, for the background: the command takes the shell's place
    starter="exec"
    start "$@"
}
digest_in() { grep 'Weights digest' "$1" | tail -n 1; }
ended() { ! kill -0 "$1" 2>/dev/null; }
has() { grep -q -- "$1" "$2" 2>/dev/null; }

# A whole run: its output, its exit code, its bits; what sbatch was told.
set_steps 50
# shellcheck disable=SC2086 # one word each
"$csengine" start run.yaml --model_dir alone $flags >alone.out 2>&1 || fail 'a run alone'
start whole --launcher_options '--nodes=1 --time=10:00' --seed 1 >whole.out 2>&1 ||
    fail "exit code $?: $(cat whole.out)"
[ -n "$(digest_in alone.out)" ] && [ "$(digest_in whole.out)" = "$(digest_in alone.out)" ] ||
    fail "the weights of a batch job: $(cat whole.out)"
expect 'Slurm job 7; its output is in .*/whole/logs/batch.log' whole.out
expect "--parsable --output=$work/whole/logs/batch.log --nodes=1 --time=10:00" slurm/submitted
expect "batch.sh $work/run.yaml $work/whole .*--seed=1" slurm/submitted
[ ! -e whole/logs/batch_job ] || fail 'the number of an ended job stays'

# Killed, it finds its job again; a signal ends the job with a checkpoint.
rm -f slurm/state slurm/code slurm/submitted
set_steps 100000000
begin cut >cut1.out 2>&1 &
waiting=$!
wait_for 'the run does not begin' test -e cut/run.db
kill -KILL $waiting
wait $waiting 2>/dev/null
begin cut >cut2.out 2>&1 &
waiting=$!
wait_for 'the job is not found again' has 'has this run already, as job 7' cut2.out
[ "$(wc -l <slurm/submitted)" -eq 1 ] || fail "submitted again: $(cat slurm/submitted)"
: >slurm/silent
wait_for 'silence is not told' has 'Slurm does not answer' cut2.out
rm slurm/silent
sleep 1
kill -TERM $waiting
wait_for 'the job does not end' ended $waiting
wait $waiting
code=$?
[ $code -eq 130 ] || fail "ended by a signal with exit code $code, not 130: $(cat cut2.out)"
expect 'asked to end with a checkpoint' cut2.out
expect 'Saved checkpoint' cut2.out
expect '--batch --signal=TERM 7' slurm/cancelled
saved=$(find cut -name 'checkpoint_*.mdl' | sed -n 's/.*_\([0-9]*\).mdl$/\1/p' |
    sort -n | tail -n 1)
[ "${saved:-0}" -gt 0 ] || fail 'no checkpoint'

# It goes on from there, to the bits of a run that was not disturbed.
rm -f slurm/state slurm/code
set_steps $((${saved:-0} + 20))
# shellcheck disable=SC2086 # one word each
"$csengine" start run.yaml --model_dir straight $flags >straight.out 2>&1 || fail 'a run alone'
start cut >cut3.out 2>&1 || fail "exit code $?: $(cat cut3.out)"
[ "$(digest_in cut3.out)" = "$(digest_in straight.out)" ] || fail "the weights: $(cat cut3.out)"

# A job that Slurm has forgotten; --detach; mistakes, of which nothing is submitted.
rm -f slurm/state slurm/code slurm/submitted
set_steps 50
start away --detach >away.out 2>&1 || fail "--detach: exit code $?"
[ "$(cat away/logs/batch_job)" = 7 ] || fail 'the number of a detached job'
wait_for 'the detached job does not end' has COMPLETED slurm/state
rm -f slurm/state
echo 7 >away/logs/batch_job
start away >away2.out 2>&1 || fail "a forgotten job: exit code $?: $(cat away2.out)"
[ "$(wc -l <slurm/submitted)" -eq 2 ] || fail "a forgotten job is not submitted again"
rm -f slurm/submitted

# A server gives commands to its job by steps. Those that hang, on a node that does not answer, end
# after a while, no more than two are on their way, and other calls do not wait for them.
rm -f slurm/state slurm/code
set_steps 100000000
api="--server unix:$work/socket"
"$csengine" serve --root queue --listen "unix:$work/socket" --allow_launcher slurm \
    >serve.out 2>&1 &
server=$!
wait_for 'the server does not listen' test -S "$work/socket"
# shellcheck disable=SC2086 # one word each
submit() { # id
    "$csengine" submit run.yaml $api --id "$1" --set fit.val_dataloader=null \
        --set checkpoint.steps=1000000000 --set logging.log_steps=1000000000 --launcher slurm \
        --launcher_options --nodes=1 >"$1.out" 2>&1 || fail "submit: $(cat "$1.out")"
}
# shellcheck disable=SC2086 # one word each
steer() { "$csengine" "$1" job $api >"$1.out" 2>&1; } # command
# shellcheck disable=SC2086 # one word each
is_in() { "$csengine" get job job $api --json | grep -Eq "\"state\": ?\"$1\""; } # state
submit job
wait_for 'the job does not run' is_in RUNNING
steer pause || fail "pause: $(cat pause.out)"
expect 'pauses' pause.out
expect "--overlap .*--jobid=7 --nodelist=n1 $csengine relay [^ ]* 10000 $work/queue/job" slurm/steps
wait_for 'the job does not pause' is_in PAUSED
: >slurm/hangs
steer pause &
first=$!
steer resume &
second=$!
steps_begun() { [ "$(wc -l <slurm/steps)" -ge 3 ]; }
wait_for 'the steps do not begin' steps_begun
# shellcheck disable=SC2086 # one word each
"$csengine" pause job $api >third.out 2>&1 && fail 'a third command'
expect '2 commands to batch jobs are under way' third.out
# shellcheck disable=SC2086 # one word each
"$csengine" label job waited=no $api >label.out 2>&1 || fail "label: $(cat label.out)"
submit other
kill -0 $first 2>/dev/null && kill -0 $second 2>/dev/null ||
    fail 'a call waited for the commands that hang'
wait $first && fail 'a command that hangs succeeds'
wait $second && fail 'a command that hangs succeeds'
expect 'node n1: no answer in time' pause.out
expect 'node n1: no answer in time' resume.out
rm slurm/hangs
steer resume || fail "resume: $(cat resume.out)"
wait_for 'the job does not go on' is_in RUNNING
steer cancel || fail "cancel: $(cat cancel.out)"
wait_for 'the job does not end' is_in CANCELLED
# shellcheck disable=SC2086 # one word each
"$csengine" cancel other $api >other.out 2>&1 || fail "cancel: $(cat other.out)"
# shellcheck disable=SC2086 # one word each
other_ended() { "$csengine" get job other $api --json | grep -Eq '"state": ?"CANCELLED"'; }
wait_for 'the other job does not end' other_ended
kill -TERM $server
wait $server
rm -f slurm/state slurm/code slurm/submitted
printf 00 | "$csengine" relay 0 5000 "$work/whole" >relay.out 2>&1
[ $? -eq 69 ] || fail "another version: $(cat relay.out)"

mistake() { # exit code, pattern, arguments...
    code=$1 pattern=$2
    shift 2
    start wrong "$@" >wrong.out 2>&1
    [ $? -eq "$code" ] || fail "$* does not end with exit code $code: $(cat wrong.out)"
    expect "$pattern" wrong.out
}
mistake 64 'has no meaning with --launcher slurm' --hosts a,b
mistake 64 'accepted' --launcher lsf
mistake 78 'option "--export=X" is none that a job may have; accepted: --account=' \
    --launcher_options --export=X
mistake 78 'num_step' --set loop.num_step=3
"$csengine" start run.yaml --model_dir wrong --launcher_options --nodes=2 >wrong.out 2>&1
[ $? -eq 64 ] || fail 'options without the launcher'
[ ! -e slurm/submitted ] || fail "a mistake was submitted: $(cat slurm/submitted)"
: >slurm/refuses
mistake 69 'sbatch ended with exit code 1: sbatch: error: no such partition'
PATH=/usr/bin:/bin
command -v sbatch >/dev/null || mistake 69 'sbatch cannot be started'

[ "$failures" -eq 0 ]
