/* Written by gpt2.py with PyTorch 2.13.0: do not edit. */
/* clang-format off */
#ifndef CSE_TESTS_REFERENCE_GPT2_H
#define CSE_TESTS_REFERENCE_GPT2_H

static const char reference_text[] =
    "The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor "
    "jugs! How vexingly quick daft zebras jump; sphinx of black quartz, judge my vow.";
enum { REFERENCE_STEPS = 3, REFERENCE_TIME = 8, REFERENCE_BATCH = 4 };
static const char reference_model[] =
    "hidden_size: 12, num_layers: 2, num_heads: 3, filter_size: 20, "
    "vocab_size: 128, max_position_embeddings: 10";
static const char reference_optimizer[] = "{lr: 0.5, momentum: 0.9}";

enum { REFERENCE_PARAMETERS = 36 };

/* The loss of each step, then the norm of each parameter after the last one. */
static const struct {
    const char *activation;
    double losses[REFERENCE_STEPS];
    double norms[REFERENCE_PARAMETERS];
} reference_runs[] = {
    { "gelu",
      { 5.464911332, 4.769457132, 4.338487566 },
      {
        10.958777864, 3.305029846, 3.480951066, 0.651597743, 3.479977376, 0.315551494,
        3.447313943, 0.271309953, 3.588841342, 0.784984785, 3.601106575, 0.541159984,
        3.495139069, 0.445833229, 4.632331875, 0.428856062, 4.604069043, 0.645806580,
        3.463950563, 0.421970412, 3.533180259, 0.286731786, 3.442020672, 0.278846817,
        3.477541014, 0.329957716, 3.341285581, 0.402778274, 3.401750192, 0.349069923,
        4.534486560, 0.389916745, 4.414694983, 0.395336375, 3.013560940, 0.482072136,
      } },
    { "gelu_tanh",
      { 5.464883618, 4.769366293, 4.338443922 },
      {
        10.958794852, 3.305025700, 3.480908462, 0.651581350, 3.479982978, 0.315583327,
        3.447303818, 0.271309953, 3.588792758, 0.784927298, 3.601044977, 0.541108534,
        3.495191076, 0.445832238, 4.632373005, 0.428828000, 4.604040204, 0.645775219,
        3.463960158, 0.421943317, 3.533187401, 0.286719869, 3.442024660, 0.278846817,
        3.477530081, 0.329945675, 3.341271768, 0.402771302, 3.401822299, 0.349041940,
        4.534545368, 0.389909566, 4.414699611, 0.395341621, 3.013597459, 0.482052896,
      } },
};

static const char *const reference_names[REFERENCE_PARAMETERS] = {
    "model.embedding_layer.word_embeddings.weight",
    "model.embedding_layer.position_embeddings.embed.weight",
    "model.transformer_decoder.layers.0.norm1.weight",
    "model.transformer_decoder.layers.0.norm1.bias",
    "model.transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight",
    "model.transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias",
    "model.transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight",
    "model.transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias",
    "model.transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight",
    "model.transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias",
    "model.transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight",
    "model.transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias",
    "model.transformer_decoder.layers.0.norm3.weight",
    "model.transformer_decoder.layers.0.norm3.bias",
    "model.transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight",
    "model.transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias",
    "model.transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight",
    "model.transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias",
    "model.transformer_decoder.layers.1.norm1.weight",
    "model.transformer_decoder.layers.1.norm1.bias",
    "model.transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight",
    "model.transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias",
    "model.transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight",
    "model.transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias",
    "model.transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight",
    "model.transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias",
    "model.transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight",
    "model.transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias",
    "model.transformer_decoder.layers.1.norm3.weight",
    "model.transformer_decoder.layers.1.norm3.bias",
    "model.transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight",
    "model.transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias",
    "model.transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight",
    "model.transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias",
    "model.transformer_decoder.norm.weight",
    "model.transformer_decoder.norm.bias",
};

#endif
