#!/bin/sh
# Hosts with networks of their own, on one machine: the bits are those of one host when a host loses
# its power or its cable in the middle of a run, and when the leading one ends at once. A host that
# was cut off and comes back is refused, and ends.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
hosts_enter "$0" "$@"
csengine=${CSENGINE_EXECUTABLE:?}
config=$top_srcdir/configs/synthetic.yaml
CSE_DASHBOARD=0
HOME=$hosts_folder
export CSE_DASHBOARD HOME
work=$hosts_folder
. "${top_srcdir:?}/tests/support/runs.sh"
hosts_make 2
steps=3000

launch() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --set logging.log_steps=100 --num_steps $steps --num_csx 1 "$@" \
        >"$work/$name.out" 2>"$work/$name.err" &
    process=$!
}

several() { # name
    launch "$1" --hosts head,n1,n2 --host_launcher exec \
        --set "backend.cluster_config.host_launcher_options=$(hosts_template)" \
        --set backend.cluster_config.lease_s=2
}

same() { # name
    wait $process || complain "$1: the run failed"
    [ -n "$(digest "$1")" ] && [ "$(digest "$1")" = "$(digest alone)" ] ||
        complain "$1: other weights: $(cat "$work/$1.err")"
}

has_begun() { grep -qs 'Step=500,' "$work/$name.out"; }
agents() { ps -eo args= | grep -c '[a]gent$'; }
no_agents() { [ "$(agents)" -eq 0 ]; }

launch alone
wait $process

several together
same together

several power
wait_for has_begun || complain 'power: it did not begin'
hosts_kill n2
same power
grep -q 'host n2 is lost' "$work/power.err" || complain "power: $(cat "$work/power.err")"
hosts_boot n2

several cable
wait_for has_begun || complain 'cable: it did not begin'
hosts_group n2 1
wait_for grep -qs 'host n2 is lost' "$work/cable.err" || complain 'cable: nobody misses n2'
hosts_group n2 0
same cable
wait_for no_agents || complain 'cable: an agent is left'

# The leading host ends at once. Nobody can be started from n1: it leads alone.
several lead
wait_for has_begun || complain 'lead: it did not begin'
# Its first process, whose number need not be the smallest.
leader=$(ps --sort=start_time -eo pid=,ppid= | awk -v p=$process '$2 == p { print $1; exit }')
kill -9 $process "$leader"
wait_for test -f "$work/lead/checkpoint_$steps.mdl" || complain 'lead: nobody took it'
wait_for no_agents || complain 'lead: an agent is left'
[ "$("$csengine" checkpoint digest "$work/lead/checkpoint_$steps.mdl")" = "$(digest alone)" ] ||
    complain 'lead: other weights'
exit $failed
