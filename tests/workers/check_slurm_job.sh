#!/bin/sh
# The batch script of deploy/ on two nodes of a Slurm of its own (tests/support/slurm.sh): USR1 ends
# the run with a checkpoint and puts the job back into the queue; the job that is started again goes
# on from there, and ends with the weights of a run on one host that nobody disturbed.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
. "$top_srcdir/tests/support/slurm.sh"
source=$(cd "$top_srcdir" && pwd)
slurm_enter "$0" "$@"
failed=0
complain() {
    echo "$*"
    cat "$hosts_folder/job.out"
    tail -n 5 "$hosts_folder/run/logs"/* 2>/dev/null
    failed=1
}

hosts_make 2
slurm_start
mkdir "$hosts_folder/bin"
ln -s "$csengine" "$hosts_folder/bin/csengine"
PATH=$hosts_folder/bin:$PATH
export PATH
flags="--compile_dir $hosts_folder/compiled --set fit.val_dataloader=null
    --set checkpoint.steps=1000000000 --set logging.log_steps=1000000000"
set_steps() { # number: the run's last step, in the configuration that the job reads
    sed "s/num_steps: [0-9]*/num_steps: $1/" "$source/configs/synthetic.yaml" \
        >"$hosts_folder/run.yaml"
}
set_steps 100000000

# shellcheck disable=SC2086 # one word each
job=$(sbatch --parsable -N 2 --output "$hosts_folder/job.out" \
    "$source/deploy/several_hosts.sbatch" "$hosts_folder/run.yaml" "$hosts_folder/run" $flags \
    --set backend.cluster_config.lease_s=5)
shows() { scontrol show job "$job" 2>/dev/null | grep -Eq "$1"; } # a pattern of what Slurm says
is_pending() { shows 'JobState=PENDING'; }
is_over() { shows 'Restarts=1' && shows 'JobState=(COMPLETED|FAILED|TIMEOUT|CANCELLED)'; }
slurm_wait 240 'the run does not begin' slurm_run_began "$hosts_folder/run"
scancel --batch --signal=USR1 "$job"
slurm_wait 240 'the job is not queued again' is_pending
grep -q 'SIGUSR1 asked for its place' "$hosts_folder/job.out" || complain 'not ended by the signal'
saved=$(ls "$hosts_folder/run" | sed -n 's/^checkpoint_\([0-9]*\).mdl$/\1/p' | tail -n 1)
[ "${saved:-0}" -gt 0 ] || complain 'no checkpoint'
set_steps $((${saved:-0} + 500))
# Slurm lets a job wait that it has put back; not here.
slurm_wait 240 'the job cannot be started now' scontrol update "JobId=$job" StartTime=now
slurm_wait 480 'the job does not end' is_over
# shellcheck disable=SC2086 # one word each
csengine start "$hosts_folder/run.yaml" --model_dir "$hosts_folder/alone" --no_dashboard \
    $flags >"$hosts_folder/alone.out" 2>&1 || complain "alone: $(cat "$hosts_folder/alone.out")"
digest=$(grep 'Weights digest' "$hosts_folder/alone.out")
trained=$(grep 'Weights digest' "$hosts_folder/job.out" | tail -n 1)
[ -n "$digest" ] && [ "$trained" = "$digest" ] ||
    complain "the weights are not those of one host: $digest; $(scontrol show job "$job")"
cat "$hosts_folder/job.out"
exit $failed
