#!/bin/sh
# What `csengine plan` says against what runs take on namespaced hosts with limited links:
#
#     sudo CSENGINE_EXECUTABLE=build/csengine top_srcdir=. bench/bench_host_plan.sh [RATES [HOSTS]]
#
# prints for each rate and number of hosts the median step as planned and as measured, their ratio,
# and the bytes that a host has sent against the formula; and for each rate what plain TCP takes to
# bring the bytes of two hosts both ways.
#
# Hosts share the cores and the memory of this machine. Where there are more hosts than cores, a
# control group limits each to its part of them, as if it had a slower processor of its own: without
# a limit a host computes faster while others wait for their links. The profile for a number of
# hosts is measured by as many processes at once, with the same limits; it is taken anew before each
# run, since what else the machine does falls on both.
set -u
top_srcdir=${top_srcdir:-.}
. "$top_srcdir/tests/support/hosts.sh"
hosts_skip() { echo "skipped: $*"; exit 0; }
hosts_enter "$0" "$@"
csengine=${CSENGINE_EXECUTABLE:?}
config=${CSE_BENCH_CONFIG:-$top_srcdir/configs/gpt2_tiny.yaml}
rates=${1:-1gbit 100mbit}
counts=${2:-2 3 4}
steps=${CSE_BENCH_STEPS:-60}
CSE_DASHBOARD=0
HOME=$hosts_folder
export CSE_DASHBOARD HOME
work=$hosts_folder
hosts_make 3

# ---- each host's part of the cores ----

cores=$(nproc)
period_us=2000 # a fraction of what anything measured here takes
groups=/sys/fs/cgroup
[ ! -d $groups/cpu ] || groups=$groups/cpu
groups=$groups/csengine.$$
mkdir $groups 2>/dev/null || groups=
if [ -n "$groups" ]; then
    for k in 0 1 2 3; do mkdir "$groups/$k"; done
    [ -e $groups/0/cpu.cfs_quota_us ] || echo +cpu >$groups/cgroup.subtree_control
    trap 'for k in 0 1 2 3; do rmdir "$groups/$k"; done; rmdir $groups' EXIT
else
    echo 'no control groups can be made here: a host computes faster while others wait'
fi
cat >"$hosts_folder/in_group" <<IN
#!/bin/sh
# number, command...
number=\$1
shift
[ -z "$groups" ] || echo 0 >"$groups/\$number/cgroup.procs"
exec "\$@"
IN
chmod +x "$hosts_folder/in_group"
cat >"$hosts_folder/in_group_on" <<ON
#!/bin/sh
# host nN, command...
exec "$hosts_folder/in_group" "\${1#n}" "$hosts_folder/on" "\$@"
ON
chmod +x "$hosts_folder/in_group_on"

# With a core for each host there is no limit: the process that moves the bytes needs some of a core
# besides that of the replica.
limit_hosts() { # how many
    quota_us=none
    [ "$1" -le "$cores" ] || quota_us=$((period_us * cores / $1))
    for k in $(seq 0 $(($1 - 1))); do
        [ -n "$groups" ] || continue
        if [ -e "$groups/$k/cpu.cfs_quota_us" ]; then
            echo $period_us >"$groups/$k/cpu.cfs_period_us"
            echo "$quota_us" | sed 's/none/-1/' >"$groups/$k/cpu.cfs_quota_us"
        else
            echo "$quota_us $period_us" | sed 's/none/max/' >"$groups/$k/cpu.max"
        fi
    done
}

start() { # name, arguments...
    name=$1
    shift
    "$hosts_folder/in_group" 0 "$csengine" start "$config" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" \
        --num_csx 1 --num_steps "$steps" --set logging.log_steps=1 "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || { cat "$work/$name.err"; exit 1; }
}

# Of as many hosts as share this machine.
profile() { # how many
    profiling=
    for k in $(seq "$1"); do
        "$hosts_folder/in_group" $((k - 1)) "$csengine" plan "$config" --replicas 1 --steps 40 \
            --save_profile "$work/profile.$k.json" \
            --compile_dir "$work/compiled" >/dev/null &
        profiling="$profiling $!"
    done
    for process in $profiling; do
        wait "$process" || exit 1
    done
}

plain() { # bytes
    python3 "$top_srcdir/bench/plain_exchange.py" serve 10.99.0.1 "$1" 30 &
    served=$!
    hosts_on n1 python3 "$top_srcdir/bench/plain_exchange.py" call 10.99.0.1 "$1" 30
    wait $served
}

start warm
for rate in $rates; do
    link=$(echo "$rate" | sed 's/gbit/G/; s/mbit/M/')
    for k in 1 2 3; do hosts_link n$k "$rate"; done
    tc qdisc del dev br0 root 2>/dev/null
    tc qdisc add dev br0 root tbf rate "$rate" burst 256kb latency 50ms
    for count in $counts; do
        list=head$(seq -s '' -f ',n%g' $((count - 1)))
        limit_hosts "$count"
        profile "$count"
        before=$(hosts_sent n1)
        on="$hosts_folder/in_group_on {host} {command}"
        start "$rate.$count" --hosts "$list" --host_launcher exec \
            --set backend.cluster_config.host_shares="${CSE_BENCH_SHARES:-even}" \
            --set "backend.cluster_config.host_launcher_options=$on"
        sent=$(($(hosts_sent n1) - before))
        for k in $(seq "$count"); do
            "$csengine" plan "$config" --replicas 1 --profile "$work/profile.$k.json" \
                --hosts "$count" --link "$link" --json >"$work/plan.$k.json"
        done
        python3 - "$work" "$rate" "$count" "$sent" "$steps" <<'PY'
import json, sqlite3, statistics, sys
work, rate, hosts, sent, steps = *sys.argv[1:3], *map(int, sys.argv[3:6])
plans = [json.load(open(f"{work}/plan.{k + 1}.json"))["plans"][0] for k in range(hosts)]
plan = max(plans, key=lambda plan: plan["step_s"])  # the latest host is waited for
store = sqlite3.connect(f"{work}/{rate}.{hosts}/run.db")
times = [row[0] for row in store.execute(
    "select max(time_ms) from points where step > 0 group by step order by step")][5:]
step_ms = statistics.median(b - a for a, b in zip(times, times[1:]))
planned_ms = 1e3 * plan["step_s"]
bytes_up = plan["bytes_up"] * steps
print(f"{rate} {hosts} hosts: median step {step_ms:.1f} ms, planned {planned_ms:.1f} "
      f"(exposed {1e3 * plan['exposed_s']:.1f}), ratio {step_ms / planned_ms:.3f}; "
      f"n1 sent {sent} bytes, at most {bytes_up:.0f} by formula, ratio {sent / bytes_up:.3f}")
PY
    done
    piece=$(python3 -c "import json, sys; p = json.load(open(sys.argv[1])); print(
        2 * p['rounded_elements'] + 4 * p['exact_elements'])" "$work/profile.1.json")
    echo "$rate: $piece bytes both ways by plain TCP, median and mean: $(plain "$piece") ms"
done
