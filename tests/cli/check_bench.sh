#!/bin/sh
# `csengine bench step` compares precisions in turns: its output is consistent, and wrong arguments
# are refused with a message.
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

bench() {
    "$csengine" bench step "$source_directory/configs/synthetic.yaml" --model_dir "$work/model" "$@"
}

# A number of the JSON's variant number $2 (from 0).
field() { # name index
    grep -o "\"$1\":[^,}]*" "$work/json" | sed -n "$(($2 + 1))s/[^:]*://p"
}

bench --precision fp32,bf16:mp2,fp16:mp1:0,cb16:mp4 --steps 9 --json >"$work/json" ||
    fail "four precisions cannot be compared"
for i in 0 1 2 3; do
    awk -v median="$(field median_ms $i)" -v least="$(field least_ms $i)" \
        -v first="$(field median_ms 0)" -v ratio="$(field ratio $i)" \
        -v rate="$(field samples_per_second $i)" 'BEGIN {
            good = least > 0 && median >= least
            good = good && (ratio * median / first - 1) ^ 2 < 1e-6
            good = good && (rate * median / 64e3 - 1) ^ 2 < 1e-6 # a batch of 64
            exit !good
        }' || fail "the numbers of variant $i do not fit together: $(cat "$work/json")"
done
[ "$(field precision 2)" = '"fp16:mp1:0"' ] || fail "variant 2 is $(field precision 2)"
[ "$(field steps 0)" = 9 ] || fail "steps: $(field steps 0)"

# The table has a line for each, and the first one's speed is 1.
bench --precision bf16,fp32 --steps 3 >"$work/table" || fail "the table is not printed"
grep -Eq '^bf16 .* 1\.000$' "$work/table" || fail "no line for bf16: $(cat "$work/table")"
grep -q '^fp32 ' "$work/table" || fail "no line for fp32"
bench --steps 2 | grep -q '^as configured' || fail "no line for the configuration itself"

# Kernels: the shares of all of them are the whole, and their time is within the step's.
bench --steps 5 --kernels --json >"$work/json" || fail "kernels are not timed"
grep -o '"\(share\|ms\|step_ms\)":[^,}]*' "$work/json" | awk -F: '
    /share/ { shares += $2; count++ }
    /"ms/ { ms += $2 }
    /step_ms/ { step = $2 }
    END { exit !(count > 3 && (shares - 1) ^ 2 < 1e-6 && ms > 0 && ms <= step) }' ||
    fail "times of kernels do not fit together: $(cat "$work/json")"
bench --precision fp32,bf16 --steps 2 --kernels >"$work/table" || fail "no table of kernels"
[ "$(grep -c 'matmul.* model' "$work/table")" -ge 4 ] ||
    fail "no products of two variants: $(cat "$work/table")"

# Roofline: every shown kernel is at or below what its operations or bytes allow (twice that is
# accepted: the loops that measure the limits may have been disturbed, and a sanitizer slows them),
# classes sum to all kernels.
most=2
[ "${CSE_SANITIZE:-no}" = no ] || most=1e9
bench --steps 5 --roofline --json >"$work/json" || fail "no roofline"
grep -o '"share_of_limit":[^,}]*' "$work/json" | awk -F: -v most="$most" '
    { good = good + ($2 > 0 && $2 < most) }
    END { exit !(NR > 3 && good == NR) }' || fail "shares of the limits: $(cat "$work/json")"
grep -o '"class_ms":{[^}]*},"kernels_ms":[^,]*' "$work/json" | tr -c '0-9.e\n-' ' ' | awk '
    { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]/) { sum += $i; last = $i } }
    END { exit !(last > 0 && ((sum - last) / last - 1) ^ 2 < 1e-6) }' ||
    fail "the classes' times are not those of all kernels: $(cat "$work/json")"
grep -q '"lower_bound_bytes":[1-9]' "$work/json" || fail "no lower bound of the workspace"
bench --steps 3 --roofline >"$work/table" || fail "no table of the roofline"
grep -q '^limits of one core.* float32 FMA [0-9.]* GFLOP/s.* triad ' "$work/table" ||
    fail "no limits: $(cat "$work/table")"
grep -q '^step over its own products: [0-9]' "$work/table" || fail "no sums: $(cat "$work/table")"

refused() { # words arguments...
    words=$1
    shift
    if bench "$@" >"$work/out" 2>"$work/err"; then
        fail "accepted: $*"
    fi
    grep -q -- "$words" "$work/err" || fail "$*: $(cat "$work/err")"
}
refused 'accepted: fp32, or bf16' --precision fp64
refused 'accepted: fp32, or bf16' --precision fp32:mp2
refused 'accepted: fp32, or bf16' --precision bf16:mp2:1:3
refused 'accepted: fp32, or bf16' --precision fp32,,bf16
refused 'preset' --precision bf16:mp9
refused 'an integer from 1' --steps 0

[ "$failures" = 0 ] || exit 1
echo "all as expected"
