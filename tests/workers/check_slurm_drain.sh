#!/bin/sh
# A run in an allocation of Slurm, with two nodes of its own (tests/support/slurm.sh), while one of
# them is drained and while one loses its power: a drained node keeps what runs on it, a lost one is
# done without; the weights are those of one host, by the link tcp and, where Open MPI is there, by
# mpi, whose carriers are a step of srun.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
. "$top_srcdir/tests/support/slurm.sh"
slurm_enter "$0" "$@"
CSE_DASHBOARD=0
HOME=$hosts_folder
export CSE_DASHBOARD HOME
config=$top_srcdir/configs/synthetic.yaml
work=$hosts_folder
failed=0
complain() {
    echo "$*"
    failed=1
}

hosts_make 2
slurm_start
flags="--compile_dir $work/compiled --set fit.val_dataloader=null --set logging.log_steps=100
    --num_csx 1"

# The job's script runs on n1, which leads.
cat >"$work/job" <<'JOB'
#!/bin/sh
name=$1
shift
exec "$CSENGINE_EXECUTABLE" start "$@" --no_dashboard >"$HOME/$name.out" 2>"$HOME/$name.err"
JOB
chmod 755 "$work/job"

submit() { # name, steps, flags...
    name=$1
    steps=$2
    shift 2
    # shellcheck disable=SC2086 # one word each
    job=$(sbatch --parsable -N 2 --no-kill --no-requeue --output "$work/$name.job" "$work/job" \
        "$name" "$config" --model_dir "$work/$name" --hosts auto --num_steps "$steps" $flags \
        --set backend.cluster_config.lease_s=3 "$@")
}
digest() { # name
    sed -n 's/^Weights digest: //p' "$work/$1.out"
}
begun() { grep -qs 'Step=300,' "$work/$name.out"; }
# A job with a lost node is completing until Slurm gives that node up.
is_over() {
    scontrol show job "$job" 2>/dev/null |
        grep -Eq 'JobState=(COMPLETED|COMPLETING|FAILED|NODE_FAIL)'
}
same() { # name
    slurm_wait 120 "$1 does not end" is_over
    [ -n "$(digest "$1")" ] && [ "$(digest "$1")" = "$(digest alone)" ] ||
        complain "$1: other weights: $(cat "$work/$1.err" "$work/$1.job")"
}

steps=1500
# shellcheck disable=SC2086 # one word each
"$csengine" start "$config" --model_dir "$work/alone" --num_steps $steps $flags \
    >"$work/alone.out" 2>"$work/alone.err" || complain "alone: $(cat "$work/alone.err")"

drained() { # name, flags...
    submit "$1" $steps --set "backend.cluster_config.host_link=$2"
    slurm_wait 60 "$name does not begin" begun
    scontrol update nodename=n2 state=drain reason=test || complain 'n2 cannot be drained'
    sinfo -h -N -n n2 -o %t | grep -q dr || complain "n2 is not drained: $(sinfo -h -N)"
    same "$name"
    grep -q 'is lost' "$work/$name.err" && complain "$name: a drained node was taken for lost"
    scontrol update nodename=n2 state=resume
    slurm_wait 30 'the nodes are not idle again' slurm_idle 2
}
drained drained.tcp tcp
if [ -n "$(command -v mpirun)" ] && [ -x "${csengine%/*}/csengine-mpi-carrier" ]; then
    OMPI_MCA_btl=tcp,self
    OMPI_MCA_pml=ob1
    OMPI_MCA_btl_tcp_if_include=10.99.0.0/24
    export OMPI_MCA_btl OMPI_MCA_pml OMPI_MCA_btl_tcp_if_include
    drained drained.mpi mpi
else
    echo 'not tested: the link mpi: no Open MPI'
fi

submit lost $steps
slurm_wait 60 'lost does not begin' begun
hosts_kill n2
same lost
grep -q 'host n2 is lost' "$work/lost.err" || complain "lost: $(cat "$work/lost.err")"
exit $failed
