#!/bin/sh
# A mixture of experts: the same bits for any number of replicas, in float32 and in bfloat16; the
# balancing loss has an effect, and so has each setting; what leaves as a folder comes back.
set -u
csengine=${CSENGINE_EXECUTABLE:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cat >"$work/run.yaml" <<'END'
trainer:
  init:
    model:
      name: llama
      hidden_size: 32
      num_hidden_layers: 3
      num_heads: 4
      rotary_dim: 8
      filter_size: 40
      vocab_size: 256
      max_position_embeddings: 16
      moe: {num_experts: 5, top_k: 2}
    backend: {compile_dir: compiled}
    optimizer: {SGD: {learning_rate: 0.1}}
    loop: {num_steps: 6}
    checkpoint: {steps: 6}
    seed: 1
  fit:
    train_dataloader:
      data_processor: text_bytes
      path: text.txt
      sequence_length: 16
      batch_size: 8
      micro_batch_size: 2
END
cd "$work" || exit 1
seq 1 800 >text.txt

fail() {
    echo "FAIL: $1"
    failed=1
}

# digest_of FOLDER ARGUMENT...: of the weights after six steps.
digest_of() {
    folder=$1
    shift
    "$csengine" start run.yaml --json --model_dir "$folder" "$@" 2>err |
        sed -n 's/.*"weights_digest":"\([0-9a-f]*\)".*/\1/p'
}

for type in float32 bfloat16; do
    first=
    set --
    [ $type = float32 ] ||
        set -- --set precision.fp16_type=bfloat16 --set precision.loss_scaling_factor=1.0
    for replicas in 1 2 3; do
        digest=$(digest_of "$type.$replicas" --num_csx $replicas "$@")
        [ -n "$digest" ] || fail "$type with $replicas replicas: $(cat err)"
        [ -n "$first" ] || first=$digest
        [ "$digest" = "$first" ] || fail "$type: $replicas replicas give $digest, 1 gives $first"
    done
    echo "$first" >>digests
done

# Each of these is another training.
number=0
for moe in 'top_k: 3' 'top_k: 2, load_balancing_loss_coef: 1' \
    'top_k: 2, load_balancing_loss_coef: 1, load_balancing_loss_over: batch' \
    'top_k: 2, expert_weighting_normalization: false' 'top_k: 2, null_expert_bias: 1' \
    'top_k: 2, expert_weighting_nonlinearity: sigmoid, router_use_bias: true' \
    'top_k: 2, num_shared_experts: 1, mlp_only_layers: [0], filter_size: 24' \
    'top_k: 2, num_shared_experts: 1, shared_expert_gate: true, decoder_sparse_step: 2'; do
    number=$((number + 1))
    digest=$(digest_of "other.$number" --set "model.moe={num_experts: 5, $moe}")
    [ -n "$digest" ] || fail "$moe: $(cat err)"
    echo "$digest" >>digests
done
twice=$(sort digests | uniq -d)
[ -z "$twice" ] || fail "two settings end with the same weights: $twice"
without='top_k: 2, load_balancing_loss_coef: 1, load_balancing_loss_over: none'
[ "$(digest_of none --set "model.moe={num_experts: 5, $without}")" = "$(head -1 digests)" ] ||
    fail 'without a balancing loss its factor has an effect'

# Experts of a folder stand one by one; what comes back has the same bits.
"$csengine" checkpoint convert float32.1/checkpoint_6.mdl folder 2>err >out || fail "$(cat err)"
"$csengine" checkpoint convert other.6/checkpoint_6.mdl biased.gguf 2>err >out &&
    fail 'experts leave by a map that has none'
grep -q 'moe of the model is {num_experts: 5' err || fail "what has no map is not named: $(cat err)"
"$csengine" checkpoint convert float32.1/checkpoint_6.mdl x.gguf 2>err >out || fail "$(cat err)"
"$csengine" checkpoint convert x.gguf gguf.npz >out 2>err || fail "$(cat err)"
grep -q '"model_type": *"mixtral"' folder/config.json || fail 'config.json is not one of Mixtral'
grep -q 'layers.2.block_sparse_moe.experts.4.w3.weight' folder/model.safetensors ||
    fail 'the folder has no expert of its own'
"$csengine" checkpoint convert folder again.npz >out 2>err || fail "$(cat err)"
"$csengine" checkpoint convert float32.1/checkpoint_6.mdl first.npz >out 2>err || fail "$(cat err)"
cmp first.npz again.npz || fail 'the weights that came back differ'
cmp first.npz gguf.npz || fail 'the weights that came back of GGUF differ'
sed 's/"num_local_experts": *5/"num_local_experts": 6/' folder/config.json >config.json
mv config.json folder/config.json
"$csengine" checkpoint convert folder never.mdl 2>err >out && fail 'a missing expert is not seen'
grep -q 'experts.5.w' err || fail "the missing expert is not named: $(cat err)"
# One expert alone is a feed-forward network here, which has other weights.
sed 's/"num_local_experts": *6/"num_local_experts": 1/' folder/config.json >config.json
mv config.json folder/config.json
"$csengine" checkpoint convert folder never.mdl 2>err >out && fail 'a folder of one expert is read'
grep -q 'num_local_experts of the weights is 1.*accepted: 2 or more' err ||
    fail "the number of experts is not named: $(cat err)"
exit $failed
