/* Written by models.py with PyTorch 2.13.0: do not edit. */
/* clang-format off */
#ifndef CSE_TESTS_REFERENCE_MODELS_TEXT_H
#define CSE_TESTS_REFERENCE_MODELS_TEXT_H

static const char model_text[] =
    "The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor "
    "jugs! How vexingly quick daft zebras jump; sphinx of black quartz, judge my vow.";
enum { MODEL_STEPS = 3, MODEL_TIME = 8, MODEL_ROWS = 12,
       MODEL_PIXELS = 144, MODEL_CLASSES = 4 };

typedef struct model_parameter {
    const char *name; /* behind "model." */
    double norm;      /* after the last step */
} model_parameter;

typedef struct model_run {
    const char *model, *settings, *data;
    int batch_size, micro_batch_size;
    double rate;
    double losses[MODEL_STEPS];
    const model_parameter *parameters;
} model_run;

static const model_parameter text_parameters_0[] = {
    { "embedding_layer.word_embeddings.weight", 12.8080356 },
    { "transformer_decoder.layers.0.norm1.weight", 3.9562376 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 4.4613420 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.2416874 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.1168908 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 4.6464446 },
    { "transformer_decoder.layers.0.norm3.weight", 3.9182259 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 5.1479585 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer_for_glu.weight", 5.1447898 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 5.1358110 },
    { "transformer_decoder.layers.1.norm1.weight", 4.0763906 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 4.4320724 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.4232324 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.3304762 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 4.7239379 },
    { "transformer_decoder.layers.1.norm3.weight", 4.0674659 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 5.3129074 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer_for_glu.weight", 5.2714831 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 5.0755169 },
    { "transformer_decoder.norm.weight", 4.0363549 },
    { "lm_head.weight", 13.2263953 },
    { 0, 0 },
};

static const model_parameter text_parameters_1[] = {
    { "embedding_layer.word_embeddings.weight", 11.0213706 },
    { "transformer_decoder.layers.0.norm1.weight", 3.4087874 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.3226584 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.3801755 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.3802712 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.5881438 },
    { "transformer_decoder.layers.0.norm3.weight", 3.4236693 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.3637023 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer_for_glu.weight", 4.3481294 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.4750161 },
    { "transformer_decoder.layers.1.norm1.weight", 3.5576738 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.2854466 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.5280266 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.5337771 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.6523799 },
    { "transformer_decoder.layers.1.norm3.weight", 3.5621510 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.4999750 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer_for_glu.weight", 4.6047874 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.4243193 },
    { "transformer_decoder.norm.weight", 3.4604662 },
    { 0, 0 },
};

static const model_parameter text_parameters_2[] = {
    { "embedding_layer.word_embeddings.weight", 11.0331515 },
    { "embedding_ln_f.weight", 3.4101489 },
    { "embedding_ln_f.bias", 0.1948825 },
    { "transformer_decoder.layers.0.norm1.weight", 3.3727633 },
    { "transformer_decoder.layers.0.norm1.bias", 0.2617843 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.5806533 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias", 0.2796842 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.3213862 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias", 0.2276124 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.4671810 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias", 0.2307886 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.2862903 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias", 0.3071553 },
    { "transformer_decoder.layers.0.norm3.weight", 3.5408114 },
    { "transformer_decoder.layers.0.norm3.bias", 0.2886170 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.2327846 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias", 0.3919980 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.6061201 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias", 0.2776140 },
    { "transformer_decoder.layers.1.norm1.weight", 3.5444288 },
    { "transformer_decoder.layers.1.norm1.bias", 0.3141773 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.4202724 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias", 0.2261404 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.4792258 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias", 0.1867673 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.4802201 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias", 0.1864385 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.4879759 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias", 0.2266283 },
    { "transformer_decoder.layers.1.norm3.weight", 3.4534991 },
    { "transformer_decoder.layers.1.norm3.bias", 0.2381399 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.6101211 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias", 0.2791763 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.3332810 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias", 0.2324064 },
    { "transformer_decoder.norm.weight", 3.4112108 },
    { "transformer_decoder.norm.bias", 0.2277256 },
    { "lm_head.bias", 0.7906091 },
    { 0, 0 },
};

static const model_parameter text_parameters_3[] = {
    { "embedding_layer.word_embeddings.weight", 11.0219522 },
    { "embedding_layer.position_embed_helper.relative_attention_bias.weight", 1.0440790 },
    { "transformer_decoder.layers.0.norm1.weight", 3.3963263 },
    { "transformer_decoder.layers.0.norm1.bias", 0.2227616 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.3724122 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias", 0.2779675 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.3895940 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias", 0.2713100 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.3588585 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias", 0.3228483 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.3515869 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias", 0.1864766 },
    { "transformer_decoder.layers.0.norm3.weight", 3.5258559 },
    { "transformer_decoder.layers.0.norm3.bias", 0.2640627 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.5845903 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias", 0.2928166 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.4969394 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias", 0.3273931 },
    { "transformer_decoder.layers.1.norm1.weight", 3.4323527 },
    { "transformer_decoder.layers.1.norm1.bias", 0.2331507 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.5182052 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias", 0.2756014 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.4346084 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias", 0.2788468 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.3687100 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias", 0.2051000 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.1509348 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias", 0.2093618 },
    { "transformer_decoder.layers.1.norm3.weight", 3.3932941 },
    { "transformer_decoder.layers.1.norm3.bias", 0.2746615 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.4901649 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias", 0.2811654 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.3769697 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias", 0.2396792 },
    { "transformer_decoder.norm.weight", 3.4809820 },
    { "transformer_decoder.norm.bias", 0.2540821 },
    { 0, 0 },
};

static const model_parameter text_parameters_4[] = {
    { "embedding_layer.word_embeddings.weight", 11.0250004 },
    { "transformer_decoder.layers.0.norm1.weight", 3.4196070 },
    { "transformer_decoder.layers.0.norm1.bias", 0.1739072 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.3869566 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias", 0.2624410 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.5815618 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias", 0.2798288 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.3260555 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias", 0.2511211 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.4711854 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias", 0.2013379 },
    { "transformer_decoder.layers.0.norm3.weight", 3.5195919 },
    { "transformer_decoder.layers.0.norm3.bias", 0.3124329 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.4409040 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias", 0.3665325 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.2251180 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias", 0.3197416 },
    { "transformer_decoder.layers.1.norm1.weight", 3.5486854 },
    { "transformer_decoder.layers.1.norm1.bias", 0.2862030 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.6951290 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias", 0.3068223 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.4201300 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias", 0.2265554 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.4884999 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias", 0.1944212 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.4882945 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias", 0.1668907 },
    { "transformer_decoder.layers.1.norm3.weight", 3.5608617 },
    { "transformer_decoder.layers.1.norm3.bias", 0.2252058 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.5004374 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias", 0.3574612 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.6077233 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias", 0.2226273 },
    { "transformer_decoder.norm.weight", 3.4779659 },
    { "transformer_decoder.norm.bias", 0.2713959 },
    { 0, 0 },
};

static const model_parameter text_parameters_5[] = {
    { "embedding_layer.word_embeddings.weight", 11.0276513 },
    { "embedding_layer.position_embeddings.embed.weight", 3.1340033 },
    { "transformer_decoder.layers.0.norm1.weight", 3.3888204 },
    { "transformer_decoder.layers.0.norm1.bias", 0.2217644 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.3711908 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias", 0.2711266 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.3878236 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias", 0.2713100 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.3545282 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias", 0.3022443 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.3464753 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias", 0.1804770 },
    { "transformer_decoder.layers.0.norm3.weight", 3.5264617 },
    { "transformer_decoder.layers.0.norm3.bias", 0.2571224 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.5855911 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias", 0.2985841 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.4967718 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias", 0.3073726 },
    { "transformer_decoder.layers.1.norm1.weight", 3.4384380 },
    { "transformer_decoder.layers.1.norm1.bias", 0.2320681 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.5189113 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias", 0.2737570 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.4351797 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias", 0.2788468 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.3740857 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias", 0.2091241 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.1573188 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias", 0.2012728 },
    { "transformer_decoder.layers.1.norm3.weight", 3.3946611 },
    { "transformer_decoder.layers.1.norm3.bias", 0.2744076 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.4912731 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias", 0.2818456 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.3786109 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias", 0.2422654 },
    { "transformer_decoder.norm.weight", 3.5074827 },
    { "transformer_decoder.norm.bias", 0.2463369 },
    { 0, 0 },
};

static const model_parameter text_parameters_6[] = {
    { "embedding_layer.word_embeddings.weight", 11.0463751 },
    { "transformer_decoder.layers.0.norm1.weight", 3.4141242 },
    { "transformer_decoder.layers.0.norm1.bias", 0.2358775 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 3.3873935 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.bias", 0.2612159 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.5819652 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.bias", 0.2795900 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.3243165 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.bias", 0.2377146 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 3.4703916 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.bias", 0.2653833 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 4.3172568 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.bias", 0.3488702 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.4479303 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.bias", 0.2941848 },
    { "transformer_decoder.layers.1.norm1.weight", 3.5611445 },
    { "transformer_decoder.layers.1.norm1.bias", 0.3208878 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 3.6924587 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.bias", 0.2740844 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.6951018 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.bias", 0.3092226 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.4237883 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.bias", 0.2278518 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 3.4824196 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.bias", 0.2100259 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 4.5669152 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.bias", 0.2632876 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 4.5834985 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.bias", 0.2427484 },
    { "transformer_decoder.norm.weight", 3.3687454 },
    { "transformer_decoder.norm.bias", 0.2387513 },
    { "lm_head.weight", 11.5516613 },
    { "lm_head.bias", 0.8191109 },
    { 0, 0 },
};

static const model_parameter text_parameters_7[] = {
    { "embedding_layer.word_embeddings.weight", 12.7768958 },
    { "transformer_decoder.layers.0.norm1.weight", 3.9428042 },
    { "transformer_decoder.layers.0.norm1.bias", 0.3790348 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 4.5629646 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 2.2848424 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 2.4122521 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 4.4708174 },
    { "transformer_decoder.layers.0.norm3.weight", 3.9308015 },
    { "transformer_decoder.layers.0.norm3.bias", 0.2898569 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 5.1534936 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 5.0516813 },
    { "transformer_decoder.layers.1.norm1.weight", 4.0785826 },
    { "transformer_decoder.layers.1.norm1.bias", 0.3310678 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 4.6424153 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 2.5441702 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 2.1996492 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 4.6972135 },
    { "transformer_decoder.layers.1.norm3.weight", 4.0423449 },
    { "transformer_decoder.layers.1.norm3.bias", 0.3209702 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 5.3026708 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 5.2302713 },
    { "transformer_decoder.norm.weight", 4.0055714 },
    { "transformer_decoder.norm.bias", 0.3006447 },
    { 0, 0 },
};

static const model_parameter text_parameters_8[] = {
    { "embedding_layer.word_embeddings.weight", 12.7920532 },
    { "transformer_decoder.layers.0.norm1.weight", 3.9581207 },
    { "transformer_decoder.layers.0.self_attn.proj_q_dense_layer.weight", 4.4604964 },
    { "transformer_decoder.layers.0.self_attn.proj_k_dense_layer.weight", 3.2395903 },
    { "transformer_decoder.layers.0.self_attn.proj_v_dense_layer.weight", 3.1076083 },
    { "transformer_decoder.layers.0.self_attn.proj_output_dense_layer.weight", 4.6400219 },
    { "transformer_decoder.layers.0.norm3.weight", 3.9274521 },
    { "transformer_decoder.layers.0.norm1_post.weight", 3.9126525 },
    { "transformer_decoder.layers.0.norm3_post.weight", 3.9670833 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer.weight", 5.1408523 },
    { "transformer_decoder.layers.0.ffn.ffn.0.linear_layer_for_glu.weight", 5.0400574 },
    { "transformer_decoder.layers.0.ffn.ffn.1.linear_layer.weight", 4.9907034 },
    { "transformer_decoder.layers.1.norm1.weight", 4.0475082 },
    { "transformer_decoder.layers.1.self_attn.proj_q_dense_layer.weight", 4.6427777 },
    { "transformer_decoder.layers.1.self_attn.proj_k_dense_layer.weight", 3.5190093 },
    { "transformer_decoder.layers.1.self_attn.proj_v_dense_layer.weight", 3.1189277 },
    { "transformer_decoder.layers.1.self_attn.proj_output_dense_layer.weight", 4.6951262 },
    { "transformer_decoder.layers.1.norm3.weight", 4.0519817 },
    { "transformer_decoder.layers.1.norm1_post.weight", 3.9730457 },
    { "transformer_decoder.layers.1.norm3_post.weight", 4.1085478 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer.weight", 5.2360724 },
    { "transformer_decoder.layers.1.ffn.ffn.0.linear_layer_for_glu.weight", 5.1134878 },
    { "transformer_decoder.layers.1.ffn.ffn.1.linear_layer.weight", 5.0976893 },
    { "transformer_decoder.norm.weight", 4.0416334 },
    { 0, 0 },
};

static const model_run text_runs[] = {
    { "llama",
      "hidden_size: 16, num_hidden_layers: 2, num_heads: 4, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, attention_module: "
      "multiquery_attention, extra_attention_params: {num_kv_groups: 2}, rotary_dim: 4, "
      "rope_theta: 500.0, pos_scaling_factor: 4.0, pos_scaling_type: llama3, "
      "pos_scaling_extra_args: {low_freq_factor: 1.0, high_freq_factor: 4.0, "
      "original_max_position_embeddings: 40}, layer_norm_epsilon: 1e-5",
      "text", 4, 2, 0.05, { 5.513586171, 5.214440593, 5.428959720 }, text_parameters_0 },
    { "llama",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, rotary_dim: 4, "
      "pos_scaling_factor: 2.0, attention_sliding_window_length: 3, "
      "attention_sink_tokens: 1, nonlinearity: geglu, share_embedding_weights: true",
      "text", 4, 2, 0.05, { 5.409003090, 5.662413322, 5.195278381 }, text_parameters_1 },
    { "gpt3",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, "
      "position_embedding_type: alibi, mup_base_hidden_size: 6, mup_base_filter_size: "
      "10, embeddings_scale: 3.0, output_logits_alpha: 1.5, embedding_layer_norm: true, "
      "use_bias_in_output: true, loss_scaling: batch_size, loss_weight: 0.125, "
      "nonlinearity: squared_relu",
      "text", 4, 2, 0.05, { 5.041928019, 5.244609138, 4.924794060 }, text_parameters_2 },
    { "gpt2",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, "
      "position_embedding_type: relative, num_relative_attention_buckets: 6, "
      "nonlinearity: quick_gelu",
      "text", 4, 2, 0.05, { 5.610316717, 5.270858860, 4.880425013 }, text_parameters_3 },
    { "gpt2",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, "
      "position_embedding_type: fixed, attention_type: dot_product",
      "text", 4, 2, 0.05, { 5.455115273, 5.272380594, 5.387821702 }, text_parameters_4 },
    { "gpt2",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0",
      "packed", 4, 2, 0.05, { 5.271830908, 4.978508955, 4.531464340 }, text_parameters_5 },
    { "gptj",
      "hidden_size: 12, num_hidden_layers: 2, num_heads: 2, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, rotary_dim: 4, "
      "share_embedding_weights: false, use_bias_in_output: true",
      "text", 4, 2, 0.05, { 5.415486422, 5.300420229, 5.537885956 }, text_parameters_6 },
    { "falcon",
      "hidden_size: 16, num_hidden_layers: 2, num_heads: 4, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, rotary_dim: 4, "
      "use_untied_layer_norm: true, attention_module: multiquery_attention, "
      "extra_attention_params: {num_kv_groups: 1}, use_ffn_bias: false, "
      "use_projection_bias_in_attention: false, use_ffn_bias_in_attention: false",
      "text", 4, 2, 0.05, { 5.728621498, 5.361235654, 5.763378198 }, text_parameters_7 },
    { "gemma2",
      "hidden_size: 16, num_hidden_layers: 2, num_heads: 4, filter_size: 20, "
      "vocab_size: 128, max_position_embeddings: 10, dropout_rate: 0, "
      "position_embedding_type: rotary, rotary_dim: 4, attention_module: "
      "multiquery_attention, extra_attention_params: {num_kv_groups: 2}, norm_type: "
      "rmsnorm, norm_first_sandwich: true, nonlinearity: geglu, embeddings_scale: 4.0, "
      "attention_logit_softcapping: 0.5, final_logit_softcapping: 2.0, "
      "attention_sliding_window_length: 3, sliding_window_every_other_decoder_layer: "
      "true, use_ffn_bias: false, use_projection_bias_in_attention: false, "
      "use_ffn_bias_in_attention: false",
      "text", 4, 2, 0.05, { 5.493921580, 5.468008599, 5.042043524 }, text_parameters_8 },
};

#endif
