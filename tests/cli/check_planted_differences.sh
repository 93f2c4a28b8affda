#!/bin/sh
# Twelve differences, each planted into a run of its own: `bisect` names the step, the setting that
# can have caused it and no other, and the first value that differs with its op and source.
set -u
. "${top_srcdir:?}/tests/support/past_runs.sh"
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || { echo "skipped: no C compiler"; exit 77; }
make_table

# A model with an op of a library's own, and the same where that op is one ulp off.
library() { # NAME FACTOR
    sed "s|\.expression = \"\(.*\)\"|.expression = \"(\1)$2\"|" \
        "$source/examples/outside/custom_kinds.c" >"$1.c"
    # shellcheck disable=SC2086 # the compiler may have flags
    $compiler -std=c11 -shared -fPIC -I"$source/include" -I"${top_builddir:?}/include" -o "$1.so" \
        "$1.c" || fail "library $1"
}
library right ''
library ulp ' * 1.00000012f'
grep -q '1.00000012f' ulp.c || fail 'the example has no such op'

rates() { # OF THE LAST STEPS
    echo "schedulers=[{PiecewiseConstantLR: {learning_rates: [0.01, $1], milestones: [12]}}]"
}
train() { # NAME ARGUMENTS...
    name=$1
    shift
    train_table "$name" 'batch_size: 32, micro_batch_size: 8' --max_steps 18 \
        --set checkpoint.steps=9 --set "model.hidden_sizes=[24, 16]" --set model.dropout_rate=0.1 \
        --set "precision={enabled: true, fp16_type: bfloat16}" \
        --set "optimizer={AdamW: {lr: 0.01, weight_decay: 0.1}}" \
        --set "$(rates 0.005)" "$@"
}
softsign() { # NAME LIBRARY ARGUMENTS...
    name=$1
    own=$2
    shift 2
    train_table "$name" 'batch_size: 32, micro_batch_size: 8' --max_steps 18 \
        --set "model={library: $own.so, name: softsign_net, input_size: 3, num_classes: 4}" "$@"
}

# Words that bisect says of the run and the other one; SETTING "": none that can have caused it.
finds() { # NAME STEP DIFFERENCE SETTING VALUE [RUN]
    planted=$1
    "$csengine" bisect "${6:-run}" "$planted" >out 2>&1
    found=$?
    [ $found -eq 1 ] || fail "$planted: exit code $found: $(cat out)"
    grep -q "^step $2 is the first that differs: $3" out ||
        fail "$planted: not step $2, $3: $(cat out)"
    if [ -n "$4" ]; then
        grep -q "^  init.$4\|^  fit.$4" out || fail "$planted: not the setting $4: $(cat out)"
        grep -q '^settings .*: 1$' out || fail "$planted: another setting as well: $(cat out)"
    else
        grep -q '^settings: none' out || fail "$planted: a setting: $(cat out)"
    fi
    grep -q "^the first value that differs: $5" out || fail "$planted: not $5: $(cat out)"
}
states='the same samples, other states'
train run

plant() { # NUMBER
    case $1 in
    1)
        train epsilon --set optimizer.AdamW.eps=1.0e-5
        finds epsilon 1 "$states" 'optimizer.AdamW.eps: (none) and 1.0e-5' \
            'model.fc_layers.0.weight.update, op update'
        ;;
    2) # Nothing decays in the biases.
        train decay --set optimizer.AdamW.weight_decay=0.2
        finds decay 1 "$states" 'optimizer.AdamW.weight_decay: 0.1 and 0.2' \
            'model.fc_layers.0.weight.update, op update'
        ! grep -q 'bias' out || fail "decay: a bias differs: $(cat out)"
        ;;
    3) # The settings differ from the start, the bits when the second rate is reached.
        train schedule --set "$(rates 0.004)"
        finds schedule 13 "$states" 'schedulers.0.PiecewiseConstantLR.learning_rates: ' \
            'optimizer.where, op where'
        grep -q '^  element \[\]: 0.00499999989 and 0.00400000019' out || fail "rate: $(cat out)"
        ;;
    4)
        train amp --set "precision.graphamp.deny=[relu]"
        finds amp 1 "$states" 'precision.graphamp.deny: (none) and \[relu\]' \
            'model.fc_layers.0.relu, op relu (forward), bfloat16'
        grep -q '^  computed from model.fc_layers.0.add (equal)$' out || fail "amp: $(cat out)"
        ;;
    5)
        train dropout --set model.dropout_rate=0.2
        finds dropout 1 "$states" 'model.dropout_rate: 0.1 and 0.2' \
            'model.fc_layers.0.dropout, op dropout (forward), bfloat16'
        ;;
    6) # The samples, too, are in another order.
        train seed --set seed=2
        finds seed 1 'other samples' 'seed: 1 and 2' 'model.fc_layers.0.weight, op state'
        grep -q '^the cause stands before the step: the runs begin with other states$' out ||
            fail "seed: $(cat out)"
        ;;
    7) # Of row 50, whose batch is known.
        sed '51s/^./9/' table.csv >other.csv
        used=$("$csengine" fork run --without 49 --model_dir never --no_start 2>&1 |
            sed -n 's/^step \([0-9]*\) .* is the first that used.*/\1/p')
        train sample --set train_dataloader.path=other.csv
        finds sample "$used" "$states" 'train_dataloader.path: table.csv and other.csv' \
            'images.cast, op cast (forward), bfloat16'
        grep -q '^  microbatch [0-3], \[[0-7], 0\]: . and 9; 1 of its elements differ' out ||
            fail "sample: $(cat out)"
        grep -q '^  computed from images (of the data)$' out || fail "sample: $(cat out)"
        ;;
    8)
        train order --max_steps 9
        train order --set train_dataloader.shuffle_seed=7
        finds order 10 'other samples' 'train_dataloader.shuffle_seed: (none) and 7' \
            'images.cast, op cast (forward), bfloat16'
        ;;
    9) # Clipping changes in which order the loss is computed, and none of its bits.
        train clip --max_steps 9
        train clip --set precision.max_gradient_norm=0.5
        finds clip 10 "$states" 'precision.max_gradient_norm: null and 0.5' \
            'model.fc_layers.0.weight.update, op update'
        # So do `compare`'s digests of two runs, as long as their steps are there.
        seen="numerics={every: 1, tensors: ['*']}"
        train seen --max_steps 9 --set "$seen"
        train clipped --max_steps 9 --set "$seen" --set precision.max_gradient_norm=0.5
        expect 1 '^first difference: model.fc_layers.0.weight.update at step 1' compare seen clipped
        mv compiled gone
        expect 1 'values were matched by name' compare seen clipped
        mv gone compiled
        ;;
    10) # Values of microbatches of other sizes are not compared: sums are.
        train micro --set train_dataloader.micro_batch_size=16
        finds micro 1 "$states" 'train_dataloader.micro_batch_size: 8 and 16' \
            'model.*bias.*, float32'
        ;;
    11) # One ulp in one op of a library.
        softsign plain right
        softsign ulp ulp
        finds ulp 1 "$states" 'model.library: right.so and ulp.so' \
            'model.softsign, op softsign (forward), float32, right.c:' plain
        grep -q 'by 1.19e-07 at most' out || fail "ulp: $(cat out)"
        ;;
    12) # A bit of a weight, in weights that a run begins with.
        "$csengine" checkpoint convert run/checkpoint_9.mdl one.safetensors --map none >out 2>&1
        flip_bit one.safetensors two.safetensors
        train one --set fit.weights=one.safetensors
        train two --set fit.weights=two.safetensors
        finds two 1 "$states" 'weights: one.safetensors and two.safetensors' \
            'model.fc_layers.0.weight' one
        grep -A 1 '^states that differ before the step: 1' out |
            grep -q 'model.fc_layers.0.weight\[5, 2\]: .*; 1 of its elements differ' ||
            fail "flipped bit: $(cat out)"
        ;;
    esac
}

flip_bit() { # FROM TO
    "${PYTHON:-python3}" - "$1" "$2" <<'END' || fail 'no other bit'
import json, struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + size])
at = 8 + size + head["fc_layers.0.weight"]["data_offsets"][0] + 4 * (5 * 3 + 2)
data[at] ^= 1
open(sys.argv[2], "wb").write(data)
END
}

. "$source/tests/support/part.sh"
for number in $(part_of 3 'planted differences' 1 2 3 4 5 6 7 8 9 10 11 12); do
    plant "$number"
done
[ $failures -eq 0 ]
