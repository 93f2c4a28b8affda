#!/bin/sh
# Folders with weights that GPTQ, AWQ and bitsandbytes packed, which
# tests/reference/quantized_folders.py makes of whole numbers and scales, are opened with the values
# that these stand for, to the bit; keys and tensors that do not fit are refused by name.
set -u
csengine=${CSENGINE_EXECUTABLE:-./csengine}
reference=$(cd "${top_srcdir:-.}" && pwd)/tests/reference
python=${PYTHON:-python3}
command -v "$python" >/dev/null || { echo 'there is no python3: skipped'; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
cd "$work" || exit 1
"$python" "$reference/quantized_folders.py" write . || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

refuse() { # WORDS FOLDER
    "$csengine" checkpoint convert "$2" refused.safetensors --map none >out 2>&1
    code=$?
    [ "$code" -eq 65 ] || fail "$2: exit code $code, not 65: $(cat out)"
    grep -q -e "$1" out || fail "$2: not told \"$1\": $(cat out)"
}

for folder in gptq4 gptq8 gptq_v2 awq nf4 nf4_nested int8; do
    "$csengine" checkpoint convert $folder $folder.safetensors --map none >out 2>&1 ||
        fail "$folder: $(cat out)"
done
"$python" "$reference/quantized_folders.py" compare . || fail 'other values'

change() { # FROM TO FOLDER: a configuration with one change, in a folder of its own
    rm -rf changed
    cp -r "$3" changed
    sed "s/$1/$2/" "$3/config.json" >changed/config.json
    ! cmp -s "$3/config.json" changed/config.json || fail "nothing is changed by s/$1/$2/"
}
change '"gptq"' '"hqq"' gptq4
refuse 'quant_method is hqq' changed
change '"bits": 4' '"bits": 3' gptq4
refuse 'quantization_config.bits is not accepted; accepted: 2 4 8' changed
change '"bits": 4' '"bits": 8' gptq4
refuse "'a.g_idx', of the packed 'a.weight', has not an int32 for each input" changed
change '"sym"' '"nobody_knows"' gptq4
refuse 'quantization_config.nobody_knows is not known for the method gptq' changed
change '"group_size": 16' '"group_size": 8' awq
refuse "'a.scales', of the packed 'a.weight', has not a row for each group" changed
change '"gemm"' '"gemv"' awq
refuse 'quantization_config.version is not accepted' changed
rm -rf changed
cp -r nf4 changed
sed 's/"blocksize": 64/"blocksize": 32/; s/\\"blocksize\\": 64/\\"blocksize\\": 32/' \
    nf4/model.safetensors >changed/model.safetensors
refuse "'a.weight.absmax', of the packed 'a.weight', has not a magnitude for each block" changed
rm -rf changed
cp -r gptq4 changed
sed 's/a\.qzeros/a.qzerox/' gptq4/model.safetensors >changed/model.safetensors
refuse "'a.qzeros', of the packed 'a.weight', is missing" changed

[ "$failures" -eq 0 ]
