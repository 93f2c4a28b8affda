#!/bin/sh
# Configurations with the ModelZoo's names and keys, one of each family at small size, are trained
# for some steps on data that are written here, with the same bits for one replica and for two; the
# loss of those that can learn the data falls.
set -u
engine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CSE_DASHBOARD=0
cd "$work" || exit 1
failed=0

# ---- data ----

awk 'BEGIN {
    for (i = 0; i < 300; i++) print "the cat sat on mat " i % 7 " and the dog did not."
}' >text.txt
"$engine" data tokenize text.txt --train_tokenizer 280 --sequence_length 16 --to tokens \
    >/dev/null || exit 1
mkdir bert images images/train images/train/a images/train/b MNIST MNIST/raw
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\ndog\nsat\n##s\n' >bert/vocab.txt
awk 'BEGIN {
    print "tokens,segment_ids,is_random_next"
    for (i = 0; i < 40; i++)
        printf "\"[~[CLS]~, ~the~, ~%s~, ~[SEP]~, ~The~, ~##s~, ~[SEP]~]\"," \
            "\"[0, 0, 0, 0, 1, 1, 1]\",%d\n", i % 2 ? "cat" : "dog", i % 2
}' | tr '~' "'" >bert/part.csv
# Pictures of 2 x 2 pixels, red ones and blue ones.
base64 -d >a.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4JSICRAwQCgAjXgSJNduv7QAAAABJRU5ErkJggg==
PNG
base64 -d >b.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGMQEfkFRAwQCgAcLgSJ5HV6kwAAAABJRU5ErkJggg==
PNG
for i in 1 2 3 4 5 6 7 8; do
    cp a.png "images/train/a/$i.png"
    cp b.png "images/train/b/$i.png"
done
{ printf '\0\0\010\003\0\0\0\020\0\0\0\034\0\0\0\034'; head -c 12544 /dev/zero; } \
    >MNIST/raw/train-images-idx3-ubyte
{ printf '\0\0\010\001\0\0\0\020'; head -c 16 /dev/zero; } >MNIST/raw/train-labels-idx1-ubyte

# ---- configurations ----

# NAME: model from standard input, then the data loader; FALLS or not.
write_config() {
    cat <<YAML
trainer:
  init:
    backend:
      backend_type: CSX
    seed: 1
    model:
$(sed 's/^/      /' model)
    optimizer:
      AdamW:
        betas: [0.9, 0.95]
        eps: 1.0e-08
        weight_decay: 0.1
        correct_bias: true
    schedulers:
    - SequentialLR:
        schedulers:
        - LinearLR: {initial_learning_rate: 0.0, end_learning_rate: 0.01, total_iters: 4}
        - CosineDecayLR: {initial_learning_rate: 0.01, end_learning_rate: 0.001, total_iters: 60}
    precision:
      enabled: true
      fp16_type: cbfloat16
      loss_scaling_factor: dynamic
      max_gradient_norm: 1.0
      log_loss_scale: true
    loop:
      max_steps: 12
    checkpoint:
      steps: 1000
      save_initial_checkpoint: false
    logging:
      log_steps: 1
    callbacks:
    - GlobalFlags: {csx.debug.compile_crd_memory_gi: 67}
    - ScopedTrainFlags: {csx.performance.micro_batch_size: 4}
    - ComputeNorm: {}
  fit:
    train_dataloader:
$(sed 's/^/      /' data)
      batch_size: 8
      shuffle: true
      shuffle_seed: 1
      num_workers: 2
      prefetch_factor: 10
      persistent_workers: true
YAML
}

# NAME RUN REPLICAS: the digest of the weights.
digest_of() {
    "$engine" start "$1.yaml" --model_dir "$1-$2" --num_csx "$3" --compile_dir compiled \
        >out 2>err ||
        { cat out err >&2; echo "FAIL: $1" >&2; return 1; }
    sed -n 's/^Weights digest: //p' out
}

# NAME: of the files model and data.
check() {
    write_config >"$1.yaml"
    one=$(digest_of "$1" one 1) || { failed=1; return; }
    first=$(sed -n 's/.* Step=1, Loss=\([0-9.]*\).*/\1/p' out)
    last=$(sed -n 's/.* Step=12, Loss=\([0-9.]*\).*/\1/p' out)
    two=$(digest_of "$1" two 2) || { failed=1; return; }
    echo "$1 $one $first $last"
    if [ -z "$one" ] || [ "$one" != "$two" ]; then
        echo "FAIL: $1: $one with one replica, $two with two"
        failed=1
    fi
    awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < 0.95 * first) }' ||
        { echo "FAIL: $1: the loss was $first and is $last"; failed=1; }
}

decoder='hidden_size: 32
num_hidden_layers: 2
num_heads: 4
filter_size: 64
vocab_size: 280
max_position_embeddings: 16
dropout_rate: 0.0
attention_dropout_rate: 0.0
embedding_dropout_rate: 0.0'
gpt_data='data_processor: GptHDF5MapDataProcessor
data_dir: tokens
vocab_size: 280'

printf '%s\n' "$gpt_data" >data
printf '%s\n' 'name: gpt3' "$decoder" 'position_embedding_type: learned' \
    'share_embedding_weights: true' 'loss_scaling: batch_size' 'loss_weight: 0.0625' \
    'mup_base_filter_size: 32' 'mup_base_hidden_size: 16' 'scale_qk_dot_by_d: true' \
    'output_logits_alpha: 1.0' 'embeddings_scale: 10' >model
check gpt3
printf '%s\n' 'name: llama' "$decoder" 'attention_module: multiquery_attention' \
    'extra_attention_params: {num_kv_groups: 2}' 'rotary_dim: 8' 'norm_type: rmsnorm' \
    'nonlinearity: swiglu' 'use_ffn_bias: false' 'attention_sliding_window_length: 8' >model
check llama
printf '%s\n' 'name: jais' "$decoder" 'position_embedding_type: alibi' 'nonlinearity: swiglu' \
    'attention_softmax_fp32: false' 'attention_kernel: optimized_beta' >model
check jais
printf '%s\n' 'name: falcon' "$decoder" 'rotary_dim: 8' 'use_untied_layer_norm: true' \
    'attention_module: multiquery_attention' 'extra_attention_params: {num_kv_groups: 1}' |
    sed 's/dropout_rate: 0.0/residual_dropout_rate: 0.0/
        s/_residual_dropout/_dropout/; s/attention_residual/attention/' >model
check falcon
printf '%s\n' 'name: gemma2' "$decoder" 'position_embedding_type: rotary' 'rotary_dim: 8' \
    'norm_type: rmsnorm' 'norm_first_sandwich: true' 'attention_logit_softcapping: 50.0' \
    'final_logit_softcapping: 30.0' 'attention_sliding_window_length: 8' \
    'sliding_window_every_other_decoder_layer: true' >model
printf '%s\n' 'data_processor: GptHDF5DataProcessor' 'data_dir: [tokens]' 'data_transforms:' \
    '- name: add_sink_tokens' '  num_sink_tokens: 2' '  truncate_to_original_length: true' >data
check gemma2

printf '%s\n' 'name: bert' 'hidden_size: 32' 'num_hidden_layers: 1' 'num_heads: 2' \
    'filter_size: 64' 'vocab_size: 10' 'max_position_embeddings: 8' 'dropout_rate: 0.0' \
    'encoder_nonlinearity: gelu' 'pooler_nonlinearity: tanh' 'mlm_loss_weight: 0.5' >model
printf '%s\n' 'data_processor: BertCSVDynamicMaskDataProcessor' 'data_dir: bert' \
    'vocab_file: bert/vocab.txt' 'max_sequence_length: 8' 'max_predictions_per_seq: 2' \
    'do_lower: true' 'masked_lm_prob: 0.15' >data
check bert
mkdir esm
awk 'BEGIN {
    print "input_ids,attention_mask,labels"
    for (i = 0; i < 40; i++) {
        a = 4 + i % 5
        printf "\"[0, %d, %d, 9, %d, 2, 1, 1]\",\"[1, 1, 1, 1, 1, 1, 0, 0]\",", a, a, a + 10
        printf "\"[-100, %d, -100, 8, -100, -100, -100, -100]\"\n", a
    }
}' | sed 's/\[0, [0-9]*,/[0, 9,/' >esm/part.csv
printf '%s\n' 'name: esm2' 'hidden_size: 32' 'num_hidden_layers: 1' 'num_heads: 2' \
    'filter_size: 64' 'vocab_size: 33' 'max_position_embeddings: 8' 'dropout_rate: 0.0' \
    'attention_dropout_rate: 0.0' 'disable_nsp: true' 'embedding_layer_norm: false' \
    'encoder_nonlinearity: gelu' 'mlm_nonlinearity: gelu' 'position_embedding_type: rotary' \
    'rotary_dim: 16' 'share_embedding_weights: true' 'token_dropout: true' 'mask_token_id: 9' \
    'pad_token_id: 1' 'use_final_layer_norm: true' 'mlm_loss_weight: 0.5' >model
printf '%s\n' 'data_processor: BertCSVDataProcessor' 'data_dir: esm' 'disable_nsp: true' >data
check esm2

mkdir t5 glue
awk 'BEGIN { for (i = 0; i < 40; i++) print "the cat sat on the mat and the dog did not" }' \
    >t5/part.txt
printf '<pad>\n</s>\n<unk>\nthe\ncat\nsat\non\nmat\nand\ndog\ndid\nnot\n' >t5/vocab
printf '%s\n' 'name: t5' 'src_vocab_size: 12' 'extra_ids: 4' 'd_model: 16' 'd_kv: 8' 'd_ff: 32' \
    'num_heads: 2' 'encoder_num_hidden_layers: 1' 'dropout_rate: 0.0' 'lm_loss_weight: 0.1' \
    'src_max_position_embeddings: 12' 'tgt_max_position_embeddings: 8' 'mup_base_d_model: 8' \
    'mup_base_d_ff: 16' 'norm_type: layernorm' >model
printf '%s\n' 'data_processor: T5DynamicDataProcessor' 'src_data_dir: t5' \
    'src_vocab_file: t5/vocab' 'extra_ids: 4' 'src_max_sequence_length: 12' \
    'tgt_max_sequence_length: 8' 'shuffle_buffer: 16384' >data
check t5
awk 'BEGIN {
    print "sentence\tlabel"
    for (i = 0; i < 40; i++) print (i % 2 ? "the cat" : "the dogs") "\t" i % 2
}' >glue/train.tsv
printf '%s\n' 'name: bert/classifier' 'hidden_size: 16' 'num_hidden_layers: 1' 'num_heads: 2' \
    'filter_size: 32' 'vocab_size: 10' 'max_position_embeddings: 8' 'dropout_rate: 0.0' \
    'attention_dropout_rate: 0.0' 'task_dropout: 0.0' 'num_labels: 2' \
    'initializer_range: 0.3' >model
printf '%s\n' 'data_processor: SST2DataProcessor' 'is_training: true' 'data_dir: glue' \
    'vocab_file: bert/vocab.txt' 'max_sequence_length: 8' 'do_lower: true' >data
check bert_classifier

printf '%s\n' 'name: vision_transformer' 'hidden_size: 16' 'num_hidden_layers: 1' 'num_heads: 2' \
    'filter_size: 32' 'image_size: [4, 4]' 'patch_size: [2, 2]' 'num_classes: 2' \
    'dropout_rate: 0.0' 'attention_dropout_rate: 0.0' 'embedding_dropout_rate: 0.0' >model
cat >data <<'YAML'
data_processor: ImageNet1KProcessor
data_dir: images
num_classes: 2
image_size: [4, 4]
split: train
transforms:
- name: resize
  size: [8, 8]
- name: random_resized_crop
  size: [4, 4]
  scale: [0.08, 1.0]
  ratio: [0.75, 1.33]
  interpolation: bicubic
- name: random_horizontal_flip
  p: 0.5
- name: to_tensor
- name: normalize
  mean: [0.5, 0.5, 0.5]
  std: [0.5, 0.5, 0.5]
use_worker_cache: true
YAML
check vit

printf '%s\n' 'name: fc_mnist' 'depth: 2' 'hidden_size: 8' 'dropout: 0.0' 'activation_fn: relu' \
    'to_float16: false' >model
printf '%s\n' 'data_processor: MNISTDataProcessor' 'data_dir: .' 'drop_last_batch: true' \
    'to_float16: true' 'split: train' >data
check fc_mnist
exit $failed
