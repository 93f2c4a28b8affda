#!/bin/sh
# A program of C that trains by an objective, with an adapter and without one, has the weights of
# the same run by a configuration, bit for bit.
set -eu
: "${top_srcdir:?}" "${top_builddir:?}" "${CSENGINE_EXECUTABLE:?}"
export CSENGINE_EXECUTABLE
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/program.c" <<'END'
#include <stdio.h>

#include "csengine/csengine.h"

typedef struct training {
    cse_model *model;
    cse_optimizer *optimizer;
} training;

static cse_tensor *step_of(cse_step *step, void *self)
{
    const training *t = self;
    cse_tensor *loss = cse_model_loss(t->model, step, NULL);
    cse_optimizer_step(step, loss, t->optimizer, NULL, NULL);
    return loss;
}

int main(int argc, char **argv)
{
    training t = { NULL, NULL };
    cse_configure(&(cse_configuration){ .model_dir = "program",
                                        .compile_dir = "compiled",
                                        .seed = 3,
                                        .adapters = argc > 3 ? argv[3] : NULL });
    t.model = cse_compile(cse_model_new("llama", argv[1]));
    cse_configure_objective("dpo", t.model, "{beta: 0.5}");
    t.optimizer = cse_configure_optimizer("AdamW", t.model, "{learning_rate: 0.05}");
    cse_executor *executor = cse_executor_new(
        &(cse_executor_options){ .input = argv[2], .num_steps = 3, .checkpoint_steps = 3 });
    cse_loop *loop = cse_execution_begin(executor, step_of, &t);
    while (cse_execution_next(loop, -1) == CSE_NEXT_STEP)
        if (cse_execution_at_checkpoint(loop))
            cse_save("program.mdl");
    const cse_status status = cse_execution_end(&loop);
    if (status != CSE_OK)
        fprintf(stderr, "%s\n", cse_error_message());
    cse_finish();
    return status != CSE_OK;
}
END
includes="-I$top_srcdir/include"
[ -d "$top_builddir/include" ] && includes="$includes -I$top_builddir/include"
# A sanitized library needs a sanitized program.
sanitizer=$(sed -n 's/^#define CSE_SANITIZE "\(.*\)"/\1/p' "$top_builddir/config.h")
flags=
[ "${sanitizer:-no}" = no ] || flags=-fsanitize=$sanitizer
# shellcheck disable=SC2086
"$top_builddir/libtool" --quiet --mode=link --tag=CC ${CC:-cc} -std=c11 -Wall -Wextra -Werror \
    $flags $includes -o "$folder/preferences" "$folder/program.c" \
    "$top_builddir/libcsengine.la"
csengine=$(cd "$(dirname "$CSENGINE_EXECUTABLE")" && pwd)/$(basename "$CSENGINE_EXECUTABLE")
cd "$folder"
awk 'BEGIN {
    printf "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"<unk>\", \"vocab\": {"
    printf "\"<unk>\": 0, \"</s>\": 1"
    for (w = 0; w < 30; w++) printf ", \"w%d\": %d", w, w + 2
    printf "}}, \"added_tokens\": [{\"id\": 1, \"content\": \"</s>\", \"special\": true}], "
    print "\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}}"
}' >tokenizer.json
awk 'BEGIN {
    for (i = 0; i < 24; i++)
        printf "{\"prompt\": \"w%d\", \"chosen\": \" w%d w2\", \"rejected\": \" w%d w3 w4\"}\n", \
            i % 9, i % 7, i % 5
}' >pairs.jsonl
model="hidden_size: 16, num_hidden_layers: 1, num_heads: 2, filter_size: 24, vocab_size: 32"
model="$model, max_position_embeddings: 16"
data="{data_processor: preferences, path: pairs.jsonl, tokenizer: tokenizer.json,"
data="$data end_of_text: </s>, max_sequence_length: 16, batch_size: 4}"
digests=
for adapters in '' '{mine: {r: 2}}'; do
    rm -rf program run program.mdl
    ./preferences "{$model}" "$data" ${adapters:+"$adapters"} 2>errors ||
        { echo "FAIL: the program: $(cat errors)"; exit 1; }
    cat >run.yaml <<END
trainer:
  init:
    model: {name: llama, $model}
    objective: {dpo: {beta: 0.5}}
    ${adapters:+adapters: $adapters}
    model_dir: run
    seed: 3
    backend: {compile_dir: compiled}
    optimizer: {AdamW: {learning_rate: 0.05}}
    loop: {num_steps: 3}
  fit:
    train_dataloader: $data
END
    "$csengine" start run.yaml --no_dashboard >out 2>errors ||
        { echo "FAIL: the configuration: $(cat errors)"; exit 1; }
    one=$("$csengine" checkpoint digest program.mdl)
    two=$("$csengine" checkpoint digest run/checkpoint_3.mdl)
    [ "${one%% *}" = "${two%% *}" ] ||
        { echo "FAIL: adapters '$adapters': the program has $one, the configuration $two"; exit 1; }
    digests="$digests ${one%% *}"
done
[ "$(echo "$digests" | tr ' ' '\n' | sort -u | wc -l)" = 3 ] ||
    { echo "FAIL: the adapter changes nothing: $digests"; exit 1; }
echo "the program: the weights of the configuration, with an adapter and without one"
