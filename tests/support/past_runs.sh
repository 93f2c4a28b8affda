# Runs whose past is looked into, in a folder of this test's own that is the working directory. To
# be sourced:
#
#     . "${top_srcdir:?}/tests/support/past_runs.sh"
#     make_table                     # table.csv: 200 rows of a, b, c and a label of four classes
#     train_table NAME BATCHES ARGUMENTS...   # a run of the small network on it, in the folder NAME
#     expect CODE WORDS COMMAND...   # of csengine; what it prints is in `out`
#     exit $((failures > 0))
#
# $csengine and $source are absolute.

csengine=${CSENGINE_EXECUTABLE:?}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
source=$(cd "${top_srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
TMPDIR=$work/scratch
export TMPDIR
mkdir "$TMPDIR"
cd "$work" || exit 1

fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

make_table() {
    i=0
    echo 'a,b,c,label' >table.csv
    while [ $i -lt 200 ]; do
        echo "$((i % 7)),$((i * 5 % 11)),$((i * 3 % 13)),$((i % 4))"
        i=$((i + 1))
    done >>table.csv
}

train_table() { # NAME BATCHES ARGUMENTS...
    name=$1
    batches=$2
    shift 2
    "$csengine" start "$source/configs/synthetic.yaml" --quiet --no_dashboard --model_dir "$name" \
        --compile_dir compiled --set fit.val_dataloader=null --set loop.num_steps=null \
        --set model.input_size=3 \
        --set "fit.train_dataloader={data_processor: csv, path: table.csv, label: label, \
$batches, shuffle: true}" "$@" >"$name.out" 2>&1 ||
        fail "$name: exit code $?: $(cat "$name.out")"
}

expect() { # CODE WORDS COMMAND...
    code=$1
    words=$2
    shift 2
    "$csengine" "$@" >out 2>&1
    found=$?
    [ $found -eq "$code" ] || fail "$*: exit code $found, not $code: $(cat out)"
    grep -q -e "$words" out || fail "$*: no '$words': $(cat out)"
}
