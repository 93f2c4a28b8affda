#!/bin/sh
# `csengine plan`: a profile whose plans are computed by hand, one that is measured, and what is
# refused.
set -eu
source_directory=${top_srcdir:-.}
csengine=${CSENGINE_EXECUTABLE:-${top_builddir:-.}/csengine}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAIL: $*"
    failures=1
}

plan() {
    "$csengine" plan "$source_directory/configs/synthetic.yaml" --model_dir "$work/model" "$@"
}

# The number of the plan's member $1 at $2 hosts of the table in the file `json`.
field() { # name hosts
    grep -o "\"hosts\":$2,.*" "$work/json" | grep -o "\"$1\":[^,}]*" | sed -n '1s/[^:]*://p'
}

near() { # name hosts expected
    awk -v is="$(field "$1" "$2")" -v expected="$3" \
        'BEGIN { exit !(is != "" && (is - expected) ^ 2 <= 1e-18 * expected ^ 2) }' ||
        fail "$1 of $2 hosts is $(field "$1" "$2"), not $3"
}

cat >"$work/profile" <<END
{"microbatches": 4, "micro_batch_size": 16, "microbatch_s": 0.5, "update_s": 0.1, "save_s": 1,
 "rounded_elements": 1000000, "exact_elements": 250000, "arena_bytes": 1000,
 "partial_sum_bytes": 100, "process_bytes": 10}
END

# A piece has 2 * 1,000,000 + 4 * 250,000 = 3,000,000 bytes: 0.24 s to a host at 100 Mbit/s, times
# 1538 / 1448 for what is around the payload in Ethernet frames. One host: 4 * 0.5 + 0.1 s. Two: two
# microbatches, a piece, the update; four: 0.5 s, 3/4 of a piece in shards and 3/4 of one that is
# joined, 0.1 s. On two hosts a failure, every 10 hours of each, costs 9 s and a step; a save of 1 s
# is every 20 steps.
piece=$(awk 'BEGIN { printf "%.17g", 0.24 * 1538 / 1448 }')
plan --profile "$work/profile" --hosts 1..2,4 --link 100M --replicas 1 --mtbf 10 --lease 9 \
    --set checkpoint.steps=20 --json >"$work/json" || fail "no plan"
near step_s 1 2.1
near exposed_s 1 0
near step_s 2 "$(awk "BEGIN { printf \"%.17g\", 1.1 + $piece }")"
near exposed_s 2 "$piece"
near step_s 4 "$(awk "BEGIN { printf \"%.17g\", 0.6 + 1.5 * $piece }")"
near bytes_up 2 3e6
near bytes_up 4 4.5e6
near bytes_down 4 4.5e6
near memory_bytes 4 1410
goodput=$(awk -v step="$(field step_s 2)" \
    'BEGIN { printf "%.17g", 1 / (1 + 1 / (20 * step)) / (1 + 2 / 36000 * (9 + step)) }')
near goodput 2 "$goodput"
near host_hours_per_million_samples 2 "$(awk -v step="$(field step_s 2)" -v goodput="$goodput" \
    'BEGIN { printf "%.17g", 2 / (64 / step * goodput) * 1e6 / 3600 }')"
[ -z "$(field step_s 3)" ] || fail "a plan that was not asked for"
grep -q '"assumptions":\["hosts are alike' "$work/json" || fail "no assumptions"

# As many replicas as the configuration says: two.
plan --profile "$work/profile" --hosts 1 --json >"$work/json"
near step_s 1 1.05

# The table has a line a number of hosts; a single host that may fail has no known goodput.
plan --profile "$work/profile" --hosts 1..3 --mtbf 10 >"$work/table" || fail "no table"
grep -Eq '^2 .*  0\.99[0-9]*  ' "$work/table" || fail "no goodput of 2: $(cat "$work/table")"
grep -Eq '^1 .*  -  ' "$work/table" || fail "a goodput of 1: $(cat "$work/table")"
[ "$(grep -c '^[1-9]' "$work/table")" = 3 ] || fail "not three lines: $(cat "$work/table")"
grep -q 'a lost host is replaced' "$work/table" || fail "no assumptions: $(cat "$work/table")"

# A measured profile, read again, makes the same plan.
plan --steps 3 --hosts 1..5 --save_profile "$work/measured" --json >"$work/one" 2>/dev/null ||
    fail "no profile is measured"
plan --profile "$work/measured" --hosts 1..5 --json >"$work/two" || fail "it cannot be read"
cmp -s "$work/one" "$work/two" || fail "another plan from the saved profile"
# fc_mnist with 16 inputs, 32 and 4 units: 16 * 32 + 32 + 32 * 4 + 4 = 676 gradients, exact in fp32;
# beside them sums of the loss and metrics; each begins a line of 16.
awk -F'[:,]' '/exact_elements/ { exit !($2 >= 676 && $2 <= 676 + 64) }' "$work/measured" ||
    fail "not 676 gradients: $(cat "$work/measured")"
plan --steps 1 --weight_grad_reduce bf16 --save_profile "$work/measured" >/dev/null 2>&1
awk -F'[:,]' '/rounded_elements/ { exit !($2 >= 676 && $2 <= 676 + 64) }' "$work/measured" ||
    fail "not 676 rounded gradients: $(cat "$work/measured")"

refused() { # words arguments...
    words=$1
    shift
    if plan "$@" >"$work/out" 2>"$work/err"; then
        fail "accepted: $*"
    fi
    grep -q -- "$words" "$work/err" || fail "$*: $(cat "$work/err")"
}
for hosts in 0 257 1..257 4..2 1, a 1..2x ''; do
    refused 'accepted: numbers from 1 to 256' --profile "$work/profile" --hosts "$hosts"
done
for link in 0 10X G 10GG -1G nan ''; do
    refused 'accepted: bits a second' --profile "$work/profile" --link="$link"
done
refused 'accepted: a number' --profile "$work/profile" --mtbf 0
refused 'cannot be read' --profile "$work/nowhere"
echo '{"microbatches": 4' >"$work/bad"
refused 'is no JSON' --profile "$work/bad"
echo '[]' >"$work/bad"
refused '"microbatches" is missing or out of range' --profile "$work/bad"
for change in s/0.5/0/ s/0.5/1e999/ s/1000000/1e6/ s/250000/-1/ s/1000,/1.5,/ 's/"save_s": 1,//'; do
    sed "$change" "$work/profile" >"$work/bad"
    refused 'missing or out of range\|is no JSON' --profile "$work/bad"
done
for early in '[]' '[1]' '{}' 1 '[0.5,0.6,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' \
    '[2,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' '[1,-1,0,0,0,0,0,0,0,0,0,0,0,0,0,0]' \
    '["",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]'; do
    sed "s/^{/{\"early\": $early, /" "$work/profile" >"$work/bad"
    refused '"early" is no array of 16 numbers' --profile "$work/bad"
done
# All is final half of a microbatch, 0.25 s, before its end: as long as a piece takes, but for the
# last sixteenth, which is final at the end.
sed 's/^{/{"early": [.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,.5,0], /; s/\[\./[0./; s/,\./,0./g' \
    "$work/profile" >"$work/early"
plan --profile "$work/early" --hosts 2 --link 100M --replicas 1 --json >"$work/json" ||
    fail "no plan"
near exposed_s 2 "$(awk -v piece="$piece" 'BEGIN { late = piece - 0.25; last = piece / 16
    printf "%.17g", (late > last ? late : last) }')"
sed 's/"microbatches": 4/"microbatches": 8/' "$work/profile" >"$work/bad"
refused 'of a step of 128 samples, but batch_size is 64' --profile "$work/bad"
refused 'cannot be written' --profile "$work/profile" --save_profile "$work/no/where"

# A step whose states do not fit in memory is not begun: 12 * width^2 weights with two moments,
# their sums and a copy of the states take 336 * width^2 bytes, here twice what the machine has.
width=$(awk '$1 == "MemTotal:" { print 16 * int(sqrt(2048 * $2 / 336) / 16 + 1) }' /proc/meminfo)
cat >"$work/large.yaml" <<END
trainer:
  init:
    model: {name: gpt2, vocab_size: 256, hidden_size: $width, num_hidden_layers: 1, num_heads: 16,
            max_position_embeddings: 16}
    optimizer: {AdamW: {lr: 0.1}}
    states: {keep_in: file, directory: $work, memory: 1GiB}
    loop: {num_steps: 1}
  fit:
    train_dataloader: {data_processor: text_bytes, path: $source_directory/LICENSE,
                       sequence_length: 16, batch_size: 1}
END
too_large='measured with all states in memory\|more than the arena'
for command in plan 'bench step'; do
    code=0
    # shellcheck disable=SC2086 # two words
    "$csengine" $command "$work/large.yaml" --model_dir "$work/large" >"$work/out" 2>&1 || code=$?
    [ $code != 0 ] && grep -q "$too_large" "$work/out" || fail "$command: $code: $(cat "$work/out")"
done

[ "$failures" = 0 ] || exit 1
echo "all as expected"
