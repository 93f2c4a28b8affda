#!/bin/sh
# Runs of several hosts of which some have the data. Each host, an agent on this machine, sees
# another folder at the place of the data, and only those of the setting data_hosts have them there.
# The bits are those of one host, whoever leads, when a process that reads or moves is killed, and
# when a host with data is lost; with none of them left the run ends with a checkpoint.
set -u
if [ -z "${CSE_DATA_HOSTS:-}" ]; then # mounts of its own
    unshare -rm true 2>/dev/null || {
        echo 'there are no user namespaces here'
        exit 77
    }
    exec env CSE_DATA_HOSTS=1 unshare -rm sh "$0" "$@"
fi
csengine=${CSENGINE_EXECUTABLE:?}
. "${top_srcdir:?}/tests/support/runs.sh"
runs_folder

# ---- a, b and c, and what each of them sees at "$work/data" ----

printf '127.0.0.1 localhost a\n127.0.0.2 b\n127.0.0.3 c\n' >"$work/hosts"
mkdir "$work/data" "$work/a" "$work/b" "$work/c"
table() { # rows, factor
    awk -v rows="$1" -v factor="$2" 'BEGIN {
        print "label,x1,x2,x3,x4"
        for (i = 0; i < rows; i++) {
            x = (i * factor) % 97 / 97; y = (i * 31) % 89 / 89
            printf "%d,%.4f,%.4f,%.4f,%.4f\n", i % 4, x, y, x * y, x - y + i % 4
        }
    }'
}
table 512 53 >"$work/train.csv"
table 128 71 >"$work/val.csv"
give() { # hosts...
    for host in a b c; do
        rm -f "$work/$host/"*
    done
    for host in "$@"; do
        cp "$work/train.csv" "$work/val.csv" "$work/$host"
    done
}
cat >"$work/on" <<'END'
#!/bin/sh
# on HOST COMMAND...: runs it where the name and the data are those of the host
work=$(dirname "$0")
CSE_TEST_HOST=$1
export CSE_TEST_HOST
shift
exec unshare -mu sh -c 'hostname "$CSE_TEST_HOST" && mount --bind "$1/hosts" /etc/hosts &&
    mount --bind "$1/$CSE_TEST_HOST" "$1/data" && shift && exec "$@"' sh "$work" "$@"
END
chmod +x "$work/on"
cat >"$work/config.yaml" <<END
trainer:
  init:
    backend:
      cluster_config:
        host_launcher: exec
        lease_s: 2
    model: {name: fc_mnist, input_size: 4, hidden_sizes: [8], num_classes: 4}
    optimizer: {SGD: {lr: 0.1, momentum: 0.9}}
    loop: {num_steps: 40}
    logging: {log_steps: 100}
    seed: 1
  fit:
    train_dataloader:
      {data_processor: csv, path: $work/data/train.csv, label: label, batch_size: 64,
       micro_batch_size: 4, shuffle: true}
    val_dataloader:
      {data_processor: csv, path: $work/data/val.csv, label: label, batch_size: 32,
       micro_batch_size: 4}
END

start() { # name, arguments...
    name=$1
    shift
    exec "$work/on" a "$csengine" start "$work/config.yaml" --model_dir "$work/$name" \
        --compile_dir "$work/compiled" --set \
        "backend.cluster_config.host_launcher_options=$work/on {host} {command}" "$@" \
        >"$work/$name.out" 2>"$work/$name.err"
}

run() { # name, arguments...
    (start "$@") || { complain "$1: it failed"; cat "$work/$1.err"; }
}

# ---- who has the data ----

validated='--set loop.eval_frequency=20'
give a
run one $validated
give a
run leader_has $validated --hosts a,b,c --data_hosts a
same leader_has one
give b
run follower_has $validated --hosts a,b,c --data_hosts b
same follower_has one
give b c
run two_have $validated --hosts a,b,c --data_hosts b,c --num_csx 2
same two_have one

# What a validation gives, and the identity of the data, are those of one host.
for name in leader_has follower_has two_have; do
    grep '^Validation\|val_' "$work/one.out" >"$work/wanted"
    grep '^Validation\|val_' "$work/$name.out" >"$work/given"
    cmp -s "$work/wanted" "$work/given" || {
        complain "$name: other values of the validation"
        diff "$work/wanted" "$work/given"
    }
done
"$csengine" compare "$work/one" "$work/follower_has" >"$work/compared" 2>&1
grep -q 'all equal, bit for bit' "$work/compared" || complain "$(cat "$work/compared")"

# A host without data has no settings that nobody reads.
grep 'is not used' "$work"/*_ha*.err && complain 'settings are called unused'

# ---- what is told ----

refuse() { # name, words, arguments...
    name=$1
    words=$2
    shift 2
    (start "$name" "$@") && complain "$name: it was not refused"
    grep -q "$words" "$work/$name.err" || complain "$name: $(cat "$work/$name.err")"
}
give a
refuse unknown 'data_hosts: --data_hosts: n9 is none of the hosts of the run' \
    --hosts a,b --data_hosts n9
give
refuse nowhere 'train.csv' --hosts a,b --data_hosts b

# ---- losses ----

# A step takes long enough that something can be killed in it.
steps=1500
give a
run undisturbed --num_steps $steps

begun() {
    grep -qs 'Step=300,' "$work/$1.out" || ! kill -0 $process 2>/dev/null
}

disturb() { # name, hosts with data, agent whose process is to be killed
    name=$1
    start "$name" --num_steps $steps --hosts a,b,c --data_hosts "$2" --num_csx 1 &
    process=$!
    wait_for begun "$name"
    grep -qs 'Step=300,' "$work/$name.out" || complain "$name: it did not begin"
    leader=$(child $process start)
    agent=$(ps -eo pid=,ppid=,args= | while read -r pid parent rest; do
        case $rest in *agent*) ;; *) continue ;; esac
        [ "$parent" = "$leader" ] && grep -qzs "^CSE_TEST_HOST=$3\$" "/proc/$pid/environ" &&
            echo "$pid" && break
    done)
}

ended() { # name, words of its log
    wait $process || { complain "$1: the run failed"; cat "$work/$1.err"; }
    same "$1" undisturbed
    [ -z "$2" ] || grep -q "$2" "$work/$1.err" || complain "$1: $(cat "$work/$1.err")"
}

give b c
for victim in input mover; do
    disturb "of_data_$victim" b b
    kill -9 "$(child "$agent" "role=$victim")" || complain "$victim: nothing to kill"
    ended "of_data_$victim" "$victim.* killed by signal 9"
done
disturb without_data_mover b c
kill -9 "$(child "$agent" role=mover)" || complain 'mover: nothing to kill'
[ -z "$(child "$agent" role=input)" ] || complain 'a host without data has an input worker'
ended without_data_mover 'mover.* killed by signal 9'

disturb one_of_two b,c b
kill -9 "$agent"
ended one_of_two "host b is lost"

# The last one that has them: what was done is saved.
disturb last_one b b
kill -9 "$agent"
wait $process
code=$?
[ $code -eq 69 ] || complain "the run whose data are lost ends with code $code"
grep -q 'no host that has the data is left' "$work/last_one.err" ||
    complain "last_one: $(cat "$work/last_one.err")"
ls "$work"/last_one/checkpoint_*.mdl >/dev/null 2>&1 || complain 'last_one: nothing is saved'
give a
run last_one --max_steps $steps
same last_one undisturbed

# The leading host: one that has data takes its place, though one without has a lower number.
same_file() { # name
    "$csengine" checkpoint digest "$work/$1/checkpoint_$steps.mdl" >"$work/$1.digest"
    [ "$(cat "$work/$1.digest")" = "$(digest undisturbed)" ] ||
        complain "$1: the weights are not those of undisturbed"
}
give a c
disturb lead a,c b
kill -9 $process "$leader"
wait_for test -f "$work/lead/checkpoint_$steps.mdl" || complain 'nobody took the lead'
wait_for no_agents || complain 'agents are left'
same_file lead

# It alone had data: the last step that was done is saved, and the others end.
give a
disturb lead_alone a b
kill -9 $process "$leader"
wait_for no_agents || complain 'agents are left'
ls "$work"/lead_alone/checkpoint_*.mdl >/dev/null 2>&1 || complain 'lead_alone: nothing is saved'
run lead_alone --max_steps $steps
same_file lead_alone

rm -rf "${work:?}"
exit $failed
