#!/bin/sh
# The link mpi between hosts with networks of their own: the weights are those of one host and of
# the link tcp, for two and three hosts and all kinds of sums; when a carrier is killed, when mpirun
# is, when a mover is, and when a host loses its power. Skipped where Open MPI is not installed.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
command -v mpirun >/dev/null || hosts_skip 'Open MPI is not installed: no mpirun'
csengine=${CSENGINE_EXECUTABLE:?}
[ -x "${csengine%/*}/csengine-mpi-carrier" ] || hosts_skip 'built without Open MPI'
hosts_enter "$0" "$@"
config=$top_srcdir/configs/synthetic.yaml
CSE_DASHBOARD=0
HOME=$hosts_folder
OMPI_ALLOW_RUN_AS_ROOT=1
OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export CSE_DASHBOARD HOME OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
work=$hosts_folder
. "${top_srcdir:?}/tests/support/runs.sh"
hosts_make 2
printf '#!/bin/sh\nhost=$1\nshift\nexec "%s" "$host" sh -c "$*"\n' "$hosts_folder/on" \
    >"$hosts_folder/agent"
chmod 755 "$hosts_folder/agent"
options="--mca plm rsh --mca plm_rsh_agent $hosts_folder/agent --mca ras ^slurm
    --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.99.0.0/24
    --mca oob_tcp_if_include 10.99.0.0/24"

launch() { # name, steps, arguments...
    name=$1
    steps=$2
    shift 2
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set logging.log_steps=100 --num_steps "$steps" --num_csx 1 "$@" \
        >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}

several() { # name, link, list, steps, arguments...
    name=$1
    link=$2
    list=$3
    steps=$4
    shift 4
    launch "$name" "$steps" --hosts "$list" --host_launcher exec \
        --set "backend.cluster_config.host_launcher_options=$(hosts_template)" \
        --set backend.cluster_config.lease_s=3 --set "backend.cluster_config.host_link=$link" \
        --set "backend.cluster_config.host_link_options=$options" "$@"
}

same() { # name, name of the run that it is compared with
    wait $process || complain "$1: the run failed: $(cat "$work/$1.err")"
    [ -n "$(digest "$1")" ] && [ "$(digest "$1")" = "$(digest "$2")" ] ||
        complain "$1: other weights than $2: $(cat "$work/$1.err")"
}

# ---- the same weights ----

for type in fp32 bf16 bf16sr; do
    launch alone.$type 60 --weight_grad_reduce $type
    wait $process
    for list in head,n1 head,n1,n2; do
        several $type.$list mpi $list 60 --weight_grad_reduce $type
        same $type.$list alone.$type
    done
done
several tcp tcp head,n1,n2 60
same tcp alone.fp32

# ---- what fails ----

disturb() { # name
    several "$1" mpi head,n1,n2 1000
    wait_for grep -qs 'Step=300,' "$work/$1.out" || complain "$1: it did not begin"
}
of() { # pattern of a command line: the first such process
    ps -eo pid=,args= | awk -v p="$1" '$0 ~ p && !/awk/ { print $1; exit }'
}
again() { grep -qs 'they are started again' "$work/$name.err"; }

launch alone 1000
wait $process

name=carrier
disturb $name
kill -9 "$(of 'csengine-mpi-carrier [^ ]* 1')" || complain 'carrier: nothing to kill'
same $name alone
again || complain "carrier: not told: $(cat "$work/$name.err")"

name=mpirun
disturb $name
kill -9 "$(of '^ *[0-9]+ mpirun ')" || complain 'mpirun: nothing to kill'
same $name alone
again || complain "mpirun: not told: $(cat "$work/$name.err")"

name=mover
disturb $name
kill -9 "$(of 'role=mover')" || complain 'mover: nothing to kill'
same $name alone
again && complain 'mover: the carriers were started again'

name=power
disturb $name
hosts_kill n2
same $name alone
grep -q 'host n2 is lost' "$work/$name.err" || complain "power: $(cat "$work/$name.err")"
grep -q 'started again with 2 hosts' "$work/$name.err" ||
    complain "power: the carriers: $(cat "$work/$name.err")"
hosts_boot n2

name=scaled
several $name mpi head,n1 1000
wait_for grep -qs 'Step=300,' "$work/$name.out" || complain "$name: it did not begin"
"$csengine" scale "$work/$name" --hosts head,n1,n2 >"$work/scale.out" 2>&1 ||
    complain "scale: $(cat "$work/scale.out")"
same $name alone
grep -q '^loaded checkpoint' "$work/$name.out" || complain "$name: the hosts did not change"

# ---- what cannot be started ----

several refused mpi head,n1 20 --set 'backend.cluster_config.host_link_options=--no-such-option'
wait $process && complain 'refused: it was not'
grep -q 'the carriers of the link mpi: .*mpirun ended' "$work/refused.err" ||
    complain "refused: $(cat "$work/refused.err")"

gone() { [ -z "$(of 'csengine-mpi-carrier')" ] && [ -z "$(of 'orted ')" ]; }
wait_for gone || complain "left: $(ps -eo args= | grep -E 'carrier|orted')"
exit $failed
