#!/bin/sh
# `csengine fine-tune`: three commands from a folder and conversations to an adapter that answers,
# and to files of it; a run that is stopped by Ctrl-C goes on with the same command to the same
# digest, as with any number of replicas and any size of microbatches; a packed GGUF file as the
# model; what --output writes; each mistake has its message.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
case $csengine in /*) ;; *) csengine=$PWD/$csengine ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
CSE_DASHBOARD=0
export CSE_DASHBOARD
cd "$work" || exit 1

fail() {
    echo "FAIL: $*"
    failed=1
}

must() { # ARGUMENTS...
    timeout 100 "$csengine" "$@" >out 2>err </dev/null || fail "$*: $(cat out err)"
}

tells() { # FILE WORDS
    grep -q -e "$2" "$1" || fail "not told \"$2\": $(cat "$1")"
}

fails() { # EXIT_CODE WORDS ARGUMENTS...: once the model is there
    code=$1
    words=$2
    shift 2
    timeout 100 "$csengine" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$code" ] && grep -q -e "$words" err || fail "$*: exit code $got: $(cat err)"
}

refused() { # EXIT_CODE WORDS ARGUMENTS...: before anything is done
    fails "$@"
    [ ! -s out ] || fail "$*: prints: $(cat out)"
}

digest() { sed -n 's/^Weights digest: //p' out; }

# ---- a small model with a tokenizer and a template, as a folder of Hugging Face ----

awk 'BEGIN {
    for (i = 0; i < 300; i++)
        print "user asks assistant: what is " i " and " i * 3 % 10 "? It is " i + i * 3 % 10 ".<e>"
}' >texts.txt
must data tokenize texts.txt --train_tokenizer 300 --sequence_length 32 --end_of_text none \
    --to tokens
mkdir forms
cp tokens/tokenizer.json forms/
cat >forms/chat_template.jinja <<'END_OF_FILE'
{%- for m in messages %}
    {{- m.role + ':\n' + m.content + '<|endoftext|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'assistant:\n' }}{% endif %}
END_OF_FILE
talk() { # NUMBER_BEHIND ADDED: the answer is the first number and that, or 9 where it is nothing
    awk -v behind="$1" -v added="$2" 'BEGIN {
        for (i = 0; i < 24; i++)
            printf "{\"messages\": [{\"role\": \"user\", \"content\": \"what is %d and %d?\"}, " \
                "{\"role\": \"assistant\", \"content\": \"It is %d.\"}]}\n", i, behind,
                added == "" ? 9 : (i + added) % 10
    }'
}
talk 1 1 >known.jsonl
talk 1 '' >talks.jsonl
cat >base.yaml <<'END_OF_FILE'
trainer:
  init:
    model_dir: base
    model: {name: llama, hidden_size: 32, num_hidden_layers: 2, num_heads: 2, filter_size: 64,
      vocab_size: 300, max_position_embeddings: 96, rotary_dim: 16, share_embedding_weights: true}
    optimizer:
      AdamW: {lr: 0.003}
    loop: {num_steps: 300}
    seed: 1
  fit:
    train_dataloader: {data_processor: conversations, path: known.jsonl, tokenizer: forms,
      loss_on: all, sequence_length: 96, packing: true, batch_size: 4}
END_OF_FILE
must start base.yaml --quiet
must checkpoint convert base/checkpoint_300.mdl model --config base.yaml --side_files forms

# ---- the three commands ----

tune() { # FOLDER ARGUMENTS...
    folder=$1
    shift
    must fine-tune model talks.jsonl --model_dir "$folder" --learning_rate 0.005 --num_epochs 40 \
        --batch_size 4 "$@"
}
tune one --num_csx 1
whole=$(digest)
[ -n "$whole" ] || fail "no digest: $(cat out)"
tells out '^  csengine chat one$'
grep -q 'keep their initial values' err && fail "a new adapter is told as missing: $(cat err)"
end=$(ls one/checkpoint_*.mdl)
tells out "^  csengine checkpoint convert $end one.gguf --dtype q8_0\$"
tells out "^  csengine checkpoint convert $end one-adapter --to peft\$"

answer() { # MODEL
    "$csengine" chat "$1" --greedy --max_new_tokens 12 --message 'what is 7 and 1?' 2>err
}
taught=$(answer one)
[ "$taught" = 'It is 9.' ] || fail "the answer is not learned: $taught $(cat err)"
[ "$(answer "$end")" = "$taught" ] || fail "the checkpoint answers otherwise: $(cat err)"
[ ! -e model_dir ] || fail 'chat with a run made a folder model_dir'
[ "$(answer model)" = 'It is 8.' ] || fail "the model as it was: $(cat err)"

sed -n 's/^  csengine checkpoint convert //p' out | while read -r arguments; do
    # shellcheck disable=SC2086
    "$csengine" checkpoint convert $arguments >converted 2>&1 || echo "$arguments" >>unconverted
done

# The folder of the run stands for its newest checkpoint.
must checkpoint convert one of_run.safetensors --all
must checkpoint convert "$end" of_checkpoint.safetensors --all
cmp of_run.safetensors of_checkpoint.safetensors || fail "a run converts to other weights"
[ ! -e unconverted ] || fail "not converted: $(cat unconverted)"
[ -f one-adapter/adapter_config.json ] || fail "no adapter: $(ls one-adapter)"
for file in tokenizer.json chat_template.jinja config.json model.safetensors; do
    [ -f "one-folder/$file" ] || fail "$file is not in the folder: $(ls one-folder)"
done
[ "$(answer one-folder)" = "$taught" ] || fail "the merged folder answers otherwise: $(cat err)"
[ "$(answer one.gguf)" = "$taught" ] || fail "the GGUF file answers otherwise: $(cat err)"
[ "$("$csengine" chat model --adapter one-adapter --greedy --max_new_tokens 12 --message \
    'what is 7 and 1?' 2>err)" = "$taught" ] || fail "base and adapter: $(cat err)"

# ---- a packed GGUF file as the model and as the tokenizer ----

must checkpoint convert model packed.gguf --dtype q8_0
must fine-tune packed.gguf talks.jsonl --output -
tells out '    weights: "packed.gguf"'
tells out '      tokenizer: "packed.gguf"'
tells out 'sequence_length: 96$'
must data conversations talks.jsonl --tokenizer model
cp out of_folder
must data conversations talks.jsonl --tokenizer packed.gguf
cmp -s out of_folder || fail "tokens of the GGUF file differ: $(diff out of_folder | head -4)"
must fine-tune packed.gguf talks.jsonl --model_dir packed --num_epochs 1
tells out 'weights stay packed in memory'
[ -n "$(answer packed)" ] || fail "a run of the GGUF file does not answer: $(cat err)"

# ---- replicas; microbatches; Ctrl-C and the same command again ----

tune two --num_csx 2
[ "$(digest)" = "$whole" ] || fail 'two replicas have other weights'
of_samples() { # MICRO_BATCH_SIZE ARGUMENTS...
    size=$1
    shift
    must fine-tune model talks.jsonl --model_dir "$(mktemp -d sizeXXXXXX)" --learning_rate 0.005 \
        --num_epochs 3 --batch_size 4 --set "fit.train_dataloader.micro_batch_size=$size" "$@"
    digest
}
single=$(of_samples 1)
for size in 2 4; do
    [ "$(of_samples $size)" = "$single" ] || fail "microbatches of $size have other weights"
done
[ "$(of_samples 4 --set precision.gradient_sums=microbatch)" != "$single" ] ||
    fail 'sums over microbatches are those over samples: nothing is tested'
half=precision.fp16_type=bfloat16
[ "$(of_samples 4 --set $half)" = "$(of_samples 1 --set $half)" ] ||
    fail 'microbatches of 4 have other weights in 16 bits'
: >cut.out
timeout 100 "$csengine" fine-tune model talks.jsonl --model_dir cut --learning_rate 0.005 \
    --num_epochs 40 --batch_size 4 --num_csx 1 --set logging.log_steps=1 >cut.out 2>&1 &
process=$!
while kill -0 $process 2>/dev/null && ! grep -q 'Step=7,' cut.out; do sleep 0.02; done
kill -INT $process 2>/dev/null
wait $process
stopped=$(ls cut/checkpoint_*.mdl 2>/dev/null)
[ -n "$stopped" ] && [ "${stopped#cut/}" != "${end#one/}" ] ||
    fail "it was not stopped before its end: $(cat cut.out)"
grep -q 'Talk with it' cut.out && fail "a stopped run is called trained: $(cat cut.out)"
tune cut --num_csx 1 --set logging.log_steps=1
[ "$(digest)" = "$whole" ] || fail "a run that goes on has other weights: $(cat out err)"

# ---- the configuration ----

must fine-tune model talks.jsonl --output -
cp out printed.yaml
must fine-tune model talks.jsonl --output written.yaml
cmp -s printed.yaml written.yaml || fail 'what is printed is not what is written'
tells written.yaml 'sequence_length: 96$'
must fine-tune model talks.jsonl --learning_rate 0.005 --num_epochs 40 --batch_size 4 \
    --output tune.yaml
must start tune.yaml --model_dir started
[ "$(digest)" = "$whole" ] || fail 'the configuration has other weights than the command'
must fine-tune model talks.jsonl --method full --output -
tells out 'initial_learning_rate: 2e-05'
grep -q adapters out && fail '--method full has an adapter'
must fine-tune model talks.jsonl --method dora --loss_on last_answer --validation talks.jsonl \
    --output -
tells out 'use_dora: true'
tells out 'loss_on: "last_answer"'
tells out 'val_dataloader:'

# ---- mistakes ----

refused 73 'written.yaml: File exists' fine-tune model talks.jsonl --output written.yaml
refused 64 'nonsense' fine-tune model talks.jsonl --nonsense 1
refused 64 'method.*lora.*dora.*full' fine-tune model talks.jsonl --method lorra
refused 64 'learning_rate 0: accepted' fine-tune model talks.jsonl --learning_rate 0
refused 64 'rank is of an adapter' fine-tune model talks.jsonl --method full --rank 4
refused 64 'CONVERSATIONS' fine-tune model
fails 78 'microbatches of 3 samples.*a power of two' fine-tune model talks.jsonl --batch_size 3 \
    --set fit.train_dataloader.micro_batch_size=3
fails 78 'gradient of .*lora_magnitude.* cannot be summed sample by sample' fine-tune model \
    talks.jsonl --method dora --set precision.gradient_sums=sample \
    --set fit.train_dataloader.micro_batch_size=2
fails 78 'fp16_type float16' fine-tune model talks.jsonl --set precision.fp16_type=float16 \
    --set fit.train_dataloader.micro_batch_size=2
refused 78 'weight_grad_reduce.*gradient_sums.*exclude each other' fine-tune model talks.jsonl \
    --set precision.weight_grad_reduce=bf16
refused 66 'nowhere' fine-tune nowhere talks.jsonl
refused 66 'nowhere.jsonl' fine-tune model nowhere.jsonl
refused 66 'holds no weights' fine-tune tokens talks.jsonl
echo '{"messages": [{"role": "user", "content": "a"}]}' >silent.jsonl
refused 65 'silent.jsonl.*line 1' fine-tune model silent.jsonl
echo 'what is this?' >wrong.jsonl
refused 65 'wrong.jsonl.*line 1' fine-tune model wrong.jsonl
rm model/chat_template.jinja
refused 65 'model has no chat template' fine-tune model talks.jsonl
exit $failed
