#!/bin/sh
# The plugins of examples/outside are built against an installed csengine, as a user builds them,
# and pass check-plugin; a configuration and a program train with one of each kind, with the same
# bits for any number of processes and after a stop; mistakes are named with their place.
set -eu
: "${top_srcdir:?}" "${top_builddir:?}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "FAIL: $*"
    exit 1
}

# ---- an installed prefix ----
make -s -C "$top_builddir" install DESTDIR="$folder/dest" >"$folder/install.log" 2>&1 ||
    { cat "$folder/install.log"; fail 'make install'; }
pc=$(find "$folder/dest" -name csengine.pc)
prefix=$folder/dest$(sed -n 's/^prefix=//p' "$pc")
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
CSENGINE_EXECUTABLE=$prefix/bin/csengine
export PKG_CONFIG_PATH LD_LIBRARY_PATH CSENGINE_EXECUTABLE
csengine=$CSENGINE_EXECUTABLE
flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs csengine)
sanitizer=$(sed -n 's/^#define CSE_SANITIZE "\(.*\)"/\1/p' "$top_builddir/config.h")
[ "${sanitizer:-no}" = no ] || flags="$flags -fsanitize=$sanitizer"
build() { # source, output, options...
    source=$1 output=$2
    shift 2
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror "$@" "$source" -o "$output" $flags -lm
}
cd "$folder"
for name in custom_training custom_kinds linear_model; do
    build "$top_srcdir/examples/outside/$name.c" "$name.so" -shared -fPIC
done

# ---- their contracts ----
for name in custom_training custom_kinds linear_model; do
    "$csengine" check-plugin "./$name.so" >out 2>&1 || { cat out; fail "check-plugin $name"; }
    grep -q 'checks passed$' out || fail "check-plugin $name says nothing"
done
"$csengine" check-plugin ./custom_kinds.so softsign |
    grep -q 'softsign equals its reference in float16' ||
    fail 'one plugin by name'
"$csengine" list --library ./custom_kinds.so metrics | grep -q '^error_rate .*share of wrong' ||
    fail 'list --library'
"$csengine" list --library ./custom_training.so optimizers CustomOptimizer |
    grep -q '^momentum' ||
    fail 'the settings of a plugin in a library'
is_found() { # source, sed expression that makes a fault, words of the check that finds it
    sed "$2" "$top_srcdir/examples/outside/$1.c" >faulty.c
    cmp -s faulty.c "$top_srcdir/examples/outside/$1.c" && fail "$2 changes nothing"
    build faulty.c faulty.so -shared -fPIC
    status=0
    "$csengine" check-plugin ./faulty.so >out 2>&1 || status=$?
    [ "$status" -eq 1 ] && grep -q "^FAIL .*$3" out || { cat out; fail "$2 is not found"; }
}
is_found custom_kinds 's/cse_square(size)/size/' 'by differences'
is_found custom_kinds 's/1.0f + (/2.0f + (/' 'by the reference kernel'
is_found custom_kinds 's/cse_not_equal(labels/cse_equal(labels/' 'after batch 0 it is 0.75'
is_found custom_kinds 's/"null}/"0}/' 'the file has'
is_found custom_training 's/cse_add(kept, direction)/cse_sub(kept, direction)/' 'after 1 steps'
is_found custom_training 's/u->momentum != NULL/0/' 'ConstantMomentum gives another parameter'
is_found custom_training 's/u->weight_decay != NULL/0/' 'ConstantWD gives another parameter'
is_found custom_training 's/constant(1), away/constant(2), away/' 'at t = 0 it is 0.5'
is_found custom_training 's/\[2 \* i + 1\] = (float)(/&i + /' 'has other bits in another order'

# ---- each kind, by a configuration ----
cat >config.yaml <<'END'
trainer:
  init:
    model: {library: ./custom_kinds.so, name: softsign_net}
    optimizer: {library: ./custom_training.so, name: CustomOptimizer, momentum: 0.8}
    schedulers:
    - {library: ./custom_training.so, name: TriangleLR, max_lr: 0.2, half_period: 60}
    - {library: ./custom_training.so, name: TriangleWD, max_val: 0.01, half_period: 60}
    loggers:
    - {library: ./custom_kinds.so, name: JsonLines, file: lines.jsonl}
    metrics:
    - {library: ./custom_kinds.so, name: error_rate}
    - {f_beta: {num_classes: 2, average_type: macro}}
    - auc
    callbacks:
    - {library: ./custom_kinds.so, name: GoodEnough, loss: 0.001}
    loop: {num_steps: 120, eval_frequency: 40, eval_steps: 4}
    logging: {log_steps: 40}
    seed: 1
  fit:
    train_dataloader: {library: ./custom_training.so, data_processor: circles, samples: 4096,
      batch_size: 64, micro_batch_size: 16, shuffle: true}
    val_dataloader: {library: ./custom_training.so, data_processor: circles, samples: 256,
      batch_size: 64}
END
run() { # model_dir, options...: prints the weights' digest
    directory=$1
    shift
    "$csengine" start config.yaml --model_dir "$directory" "$@" >out 2>&1 ||
        { cat out >&2; fail "training with $*"; }
    sed -n 's/^Weights digest: //p' out
}
one=$(run one)
grep -q 'accuracy: 1.0000' out || { cat out; fail 'the two circles are not told apart'; }
grep -q 'error_rate: 0.0000' out && grep -q 'f_beta: 1.0000' out &&
    grep -q 'auc: 1.0000' out || { cat out; fail 'metrics'; }
grep -q '"name": "val_error_rate", "step": 80' one/lines.jsonl || fail 'no series of a metric'
grep -q '"name": "loss", "step": 120' one/lines.jsonl || fail 'the logger wrote no loss'
[ "$(run three --num_csx 3)" = "$one" ] || fail 'other bits with three replicas'
run parts --num_steps 50 >parts.digest
[ "$(run parts --num_steps 70)" = "$one" ] || fail 'other bits after a stop'

early='[{library: ./custom_kinds.so, name: GoodEnough, loss: 0.5}]'
"$csengine" start config.yaml --model_dir early --set trainer.init.callbacks="$early" >out 2>&1 ||
    { cat out; fail 'a training that a callback ends'; }
grep -q 'the loss is good enough' out && [ ! -e early/checkpoint_120.mdl ] ||
    { cat out; fail 'the callback did not end the training'; }

# A relative library is looked for in python_paths, also in schedules that are parts of others.
mkdir code
cp custom_training.so code/elsewhere.so
triangle='name: TriangleLR, max_lr: 0.2, half_period: 60'
nested() { # library: prints the digest
    run "nested-$(basename "$1")" --num_steps 20 --python_paths "[$folder/code]" \
        --set "trainer.init.optimizer.library=$1" --set "trainer.init.schedulers=[{SequentialLR:
        {milestones: [10], schedulers: [{ConstantLR: {learning_rate: 0.1}}, {ScalePerParamLR:
        {scheduler: {library: $1, $triangle}}}]}}]"
}
near=$(nested ./custom_training.so)
[ -n "$near" ] && [ "$(nested elsewhere.so)" = "$near" ] || fail 'a library in python_paths'
status=0
"$csengine" start config.yaml --model_dir wrong --python_paths "[$folder/code]" \
    --set "trainer.init.schedulers=[{SequentialLR: {milestones: [10], schedulers: [
    {library: nowhere.so, $triangle}, {ConstantLR: {learning_rate: 0.1}}]}}]" >out 2>&1 || status=$?
[ "$status" -eq 66 ] && grep -q 'nowhere.so cannot be opened' out ||
    { cat out; fail 'a library that is in no folder of python_paths'; }

# The library of the input function belongs to the data of a checkpoint.
cp custom_training.so kept.so
build "$top_srcdir/examples/outside/custom_training.c" custom_training.new -shared -fPIC -O1
mv custom_training.new custom_training.so
if "$csengine" start config.yaml --model_dir parts --num_steps 1 >out 2>&1; then
    fail 'a checkpoint went on with another input function'
fi
grep -q 'was trained on other data: .*custom_training.so' out || { cat out; fail 'what changed'; }
mv kept.so custom_training.so

# Without a compiler a step is interpreted, in processes that have no code of libraries: the other
# plugins work, and an op is refused before anything is started.
without() { # options...
    status=0
    env -u CSE_CC PATH="$folder" "$csengine" start config.yaml --model_dir bare --num_steps 5 \
        "$@" >out 2>&1 || status=$?
}
own='{name: fc_mnist, input_size: 2, hidden_sizes: [8], num_classes: 2}'
without --set "trainer.init.model=$own"
[ "$status" -eq 0 ] && grep -q 'runs interpreted' out || { cat out; fail 'plugins, no compiler'; }
rm -r bare
without
[ "$status" -eq 69 ] && grep -q 'no C compiler .*the op softsign, .* set CSE_CC' out &&
    ! ls bare/checkpoint_* 2>/dev/null || { cat out; fail "an op, no compiler: $status"; }

# ---- mistakes ----
fails_with() { # exit code, words of the message, options...
    code=$1 words=$2 status=0
    shift 2
    "$csengine" start config.yaml --model_dir wrong "$@" >out 2>&1 || status=$?
    [ "$status" -eq "$code" ] && grep -qF "$words" out ||
        { cat out; fail "$*: exit code $code and '$words' expected, got $status"; }
}
of=trainer.init
fails_with 66 'none.so cannot be opened' --set $of.optimizer.library=./none.so
fails_with 65 'config.yaml cannot be loaded' --set $of.optimizer.library=./config.yaml
fails_with 78 "there is no optimizer 'CustomOptimiser' (did you mean 'CustomOptimizer'?)" \
    --set $of.optimizer.name=CustomOptimiser
fails_with 78 "'TriangleLR' is no optimizer, it is a plugin of the kind schedule" \
    --set $of.optimizer.name=TriangleLR
fails_with 78 'has no optimizer at all' --set $of.optimizer.library=./custom_kinds.so
fails_with 78 'unknown setting "momentun"' --set $of.optimizer.momentun=0.5
grep -q 'config.yaml:4:\|momentun' out || { cat out; fail 'the place of a setting'; }
fails_with 78 "'softsign_net' is no metric, it is a plugin of the kind model" \
    --set $of.metrics='[{library: ./custom_kinds.so, name: softsign_net}]'
fails_with 78 'there is no input function' --set trainer.fit.train_dataloader.data_processor=circle

wrong_table() { # name, source, words, exit code
    printf '#include <csengine/csengine.h>\n%s\n' "$2" >"$1.c"
    build "$1.c" "$1.so" -shared -fPIC
    fails_with "${4:-65}" "$3" --set $of.optimizer.library="./$1.so"
}
wrong_table empty 'int nothing;' 'exports no table of plugins'
wrong_table later 'CSE_API extern const cse_plugin_table cse_plugin_library;
    static const cse_plugin none[] = { { 0, 0, 0 } };
    const cse_plugin_table cse_plugin_library = { CSE_PLUGIN_ABI + 1, none };' \
    'its table of plugins has version 2, and this engine reads version 1: compile it again'
wrong_table old 'static const cse_optimizer_descriptor o = { .name = "CustomOptimizer" };
    CSE_PLUGINS({ "optimizer", 0, &o });' \
    'optimizer CustomOptimizer is compiled for version 0 of the contract of its kind, and this'
wrong_table half 'static const cse_optimizer_descriptor o = { .name = "CustomOptimizer" };
    CSE_PLUGINS(CSE_OPTIMIZER_PLUGIN(&o));' 'must have the member `settings`'
wrong_table clash 'static cse_status infer(const cse_infer *in, cse_shape *s, cse_dtype *d) {
        return cse_infer_floats(in, s, d); }
    static const cse_op o = { .name = "gelu", .kind = CSE_OP_ELEMENTWISE, .min_inputs = 1,
        .precision = CSE_FAMILY_NEUTRAL, .max_inputs = 1, .infer = infer, .expression = "$0",
        .reference = cse_reference_elementwise };
    static int states(const cse_settings *s, cse_shape shape, cse_declared_state *list) {
        (void)s, (void)shape, (void)list; return 0; }
    static void update(cse_optimizer_update *u) { u->next_parameter = u->parameter; }
    static const cse_setting settings[] = { { .name = "momentum" }, { .name = NULL } };
    static const cse_optimizer_descriptor p = { .name = "CustomOptimizer",
        .settings = settings, .states = states, .update = update };
    CSE_PLUGINS(CSE_OP_PLUGIN(&o), CSE_OPTIMIZER_PLUGIN(&p));' \
    'the op gelu has the name of an op of the engine' 78

# ---- by handle in C ----
cat >program.c <<'END'
#include <csengine/csengine.h>
#include <stdio.h>

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
    cse_metric *errors;
} training;

static cse_tensor *step(cse_step *at, void *self)
{
    training *t = self;
    cse_tensor *outputs = cse_forward(t->model, cse_input(at, "points"));
    cse_tensor *labels = cse_input(at, "labels");
    cse_tensor *loss = cse_cross_entropy(outputs, labels);
    cse_optimizer_step(at, loss, t->optimizer, NULL, NULL);
    cse_metric_update(t->errors, labels, cse_argmax(outputs, -1));
    return loss;
}

int main(void)
{
    double errors = 1;
    cse_configure(&(cse_configuration){ .num_csx = 2, .seed = 1 });
    if (cse_plugin_load("./custom_kinds.so") != CSE_OK)
        return 2;
    cse_model *model = cse_compile(cse_model_new("softsign_net", NULL));
    training t = { .model = model,
                   .optimizer = cse_configure_optimizer(
                       "CustomOptimizer", model, "{library: ./custom_training.so, momentum: 0.8}"),
                   .errors = cse_metric_new("error_rate", "errors") };
    cse_configure_schedule(t.optimizer, "{scheduler: TriangleLR, max_lr: 0.2, half_period: 60}");
    cse_executor *executor = cse_executor_new(&(cse_executor_options){
        .input = "{data_processor: circles, samples: 4096, batch_size: 64, micro_batch_size: 16}",
        .num_steps = 100 });
    cse_status status = cse_run(executor, step, &t);
    if (status == CSE_OK)
        status = cse_metric_value(t.errors, &errors);
    if (status != CSE_OK)
        fprintf(stderr, "%s\n", cse_error_message());
    printf("errors %.3f\n", errors);
    cse_finish();
    return cse_status_exit_code(status);
}
END
build program.c program
./program >out 2>&1 || { cat out; fail "the program ended with $?"; }
# Of all steps together; the first ones guess.
awk '/^errors/ { exit !($2 < 0.4) }' out || { cat out; fail 'the metric of the program'; }
echo 'outside plugins: built from an installed prefix, trained, mistakes named'
