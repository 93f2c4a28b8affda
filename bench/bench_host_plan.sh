#!/bin/sh
# What `csengine plan` says against what runs take on namespaced hosts with limited links:
#
#     sudo CSENGINE_EXECUTABLE=build/csengine top_srcdir=. bench/bench_host_plan.sh [RATES [HOSTS]]
#
# prints for each rate and number of hosts the step as planned and as measured, their ratio, and the
# bytes that a host has sent against the formula. Hosts share the cores of this machine, and the
# profile is of a core that is free: with more hosts than free cores the ratio says nothing.
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

start() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --num_csx 1 --num_steps "$steps" --set logging.log_steps=1 "$@" \
        >"$work/$name.out" 2>"$work/$name.err" || { cat "$work/$name.err"; exit 1; }
}

start warm
"$csengine" plan "$config" --replicas 1 --steps 20 --save_profile "$work/profile.json" \
    --compile_dir "$work/compiled" >/dev/null || exit 1
for rate in $rates; do
    link=$(echo "$rate" | sed 's/gbit/G/; s/mbit/M/')
    for k in 1 2 3; do hosts_link n$k "$rate"; done
    tc qdisc del dev br0 root 2>/dev/null
    tc qdisc add dev br0 root tbf rate "$rate" burst 256kb latency 50ms
    for count in $counts; do
        list=head$(seq -s '' -f ',n%g' $((count - 1)))
        before=$(hosts_sent n1)
        start "$rate.$count" --hosts "$list" --host_launcher exec \
            --set backend.cluster_config.host_shares="${CSE_BENCH_SHARES:-even}" \
            --set "backend.cluster_config.host_launcher_options=$(hosts_template)"
        sent=$(($(hosts_sent n1) - before))
        "$csengine" plan "$config" --replicas 1 --profile "$work/profile.json" --hosts "$count" \
            --link "$link" --compile_dir "$work/compiled" --json >"$work/plan.json"
        python3 - "$work/plan.json" "$work/$rate.$count" "$rate" "$count" "$sent" "$steps" <<'PY'
import glob, json, sqlite3, sys
plan = json.load(open(sys.argv[1]))["plans"][0]
store = sqlite3.connect(sys.argv[2] + "/run.db")
rate, hosts, sent, steps = sys.argv[3], *map(int, sys.argv[4:7])
times = [row[0] for row in store.execute(
    "select max(time_ms) from points where step > 0 group by step order by step")][5:]
step_ms = (times[-1] - times[0]) / (len(times) - 1)
planned_ms = 1e3 * plan["step_s"]
bytes_up = plan["bytes_up"] * steps
print(f"{rate} {hosts} hosts: step {step_ms:.1f} ms, planned {planned_ms:.1f} "
      f"(exposed {1e3 * plan['exposed_s']:.1f}), ratio {step_ms / planned_ms:.3f}; "
      f"n1 sent {sent} bytes, at most {bytes_up:.0f} by formula, ratio {sent / bytes_up:.3f}")
PY
    done
done
