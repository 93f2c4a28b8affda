#!/bin/sh
# What hosts send each other, by the counters of their network devices: within 2 % of the formula of
# docs/hosts.md, for two hosts, which exchange whole pieces, and for four, which join shards.
set -u
. "${top_srcdir:?}/tests/support/hosts.sh"
hosts_enter "$0" "$@"
csengine=${CSENGINE_EXECUTABLE:?}
config=$top_srcdir/configs/gpt2_tiny.yaml
CSE_DASHBOARD=0
HOME=$hosts_folder
export CSE_DASHBOARD HOME
work=$hosts_folder
failed=0
steps=40
hosts_make 3

complain() {
    echo "$*"
    failed=1
}

run() { # name, arguments...
    name=$1
    shift
    "$csengine" start "$config" --model_dir "$work/$name" --compile_dir "$work/compiled" \
        --num_steps $steps --num_csx 1 --set backend.cluster_config.host_shares=even "$@" \
        >"$work/$name.out" 2>"$work/$name.err" ||
        complain "$name: $(cat "$work/$name.err")"
}

# Bytes of one piece: 4 a parameter and sum, or 2 a parameter with 16 bits.
piece_bytes() { # weight_grad_reduce
    "$csengine" plan "$config" --hosts 1 --link 1G --steps 2 --set \
        "precision.weight_grad_reduce=$1" --save_profile "$work/$1.json" --compile_dir \
        "$work/compiled" >/dev/null 2>&1
    python3 -c "
import json
p = json.load(open('$work/$1.json'))
print(2 * p['rounded_elements'] + 4 * p['exact_elements'])"
}

# Each of the hosts has a node of the tree, so one piece.
expect() { # hosts, weight_grad_reduce, list
    bytes=$(piece_bytes "$2")
    before=$(hosts_sent n1)
    run "$1.$2" --weight_grad_reduce "$2" --hosts "$3" --host_launcher exec \
        --set "backend.cluster_config.host_launcher_options=$(hosts_template)"
    sent=$(($(hosts_sent n1) - before))
    echo "$1 hosts, $2: a piece has $bytes bytes; n1 has sent $sent in $steps steps"
    python3 -c "
hosts, piece, steps, sent = $1, $bytes, $steps, $sent
a_step = piece if hosts == 2 else 2 * piece * (hosts - 1) / hosts
print('formula', round(a_step * steps), 'ratio', round(sent / (a_step * steps), 4))
exit(not 1 <= sent / (a_step * steps) <= 1.02)" || complain "$1 hosts, $2: other bytes"
}

run alone
for reduce in fp32 bf16; do
    expect 2 $reduce head,n1
    expect 4 $reduce head,n1,n2,n3
done
grep -h '^Weights digest' "$work/alone.out" "$work/2.fp32.out" "$work/4.fp32.out" | sort -u |
    wc -l | grep -qx 1 || complain 'other weights than on one host'
exit $failed
