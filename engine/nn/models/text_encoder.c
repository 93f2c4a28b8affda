/* text_encoder: an encoder of text whose parts are settings, with one of the heads that
 * transformers gives its encoders: BERT's family (Devlin et al. 2019), RoBERTa (Liu et al. 2019),
 * DistilBERT (Sanh et al. 2019), ModernBERT (Warner et al. 2024), and what sentence-transformers
 * makes of them (Reimers and Gurevych 2019).
 *
 * Inputs of a step: input_ids int32 [batch, time], attention_mask, token_type_ids; labels of the
 * head, or start_positions and end_positions int32 [batch] of span; with choice, and with base and
 * pooling while training, several texts in a sample: [batch, texts, time]. Parameters besides those
 * of the head (text_heads.c) have the prefix encoder. */
#include "engine/nn/models/class_loss.h"
#include "engine/nn/models/sentence_vectors.h"
#include "engine/nn/models/text_heads.h"

static const cse_setting settings[] = {
    CSE_BERT_CHOICE("head", "base", CSE_TEXT_HEAD_NAMES,
                    "what is predicted: base: vectors; masked: the token at each place; "
                    "next_sentence; sequence: labels of a text; tokens: of each token; span: where "
                    "an answer begins and ends; choice: which of several texts"),
    CSE_BERT_SETTINGS("30522", "512", "null", "null", "false"),
    CSE_BERT_RANGE("pad_token_id", INTEGER, "null", 0, 1 << 24,
                   "padding, whose embedding is not trained; null: none"),
    CSE_BERT_ROW("share_embedding_weights", BOOL, "true",
                 "the word embeddings are also the weight of the head masked"),
    CSE_BERT_CHOICE("mlm_nonlinearity", "null", CSE_ACTIVATION_NAMES,
                    "in the head masked; null: encoder_nonlinearity"),
    CSE_BERT_ROW("use_output_bias_in_mlm", BOOL, "true", "bias of the logits of masked"),
    CSE_BERT_ROW("pooler", BOOL, "true",
                 "a layer over the first token: the heads next_sentence, sequence and choice read "
                 "it, and base keeps its weights"),
    CSE_BERT_CHOICE("classifier_activation", "null", CSE_ACTIVATION_NAMES,
                    "of a dense layer that sequence has before its last one, in place of the "
                    "pooler, and choice where there is no pooler; null: there is none"),
    CSE_BERT_ROW("classifier_norm", BOOL, "false",
                 "a norm behind that layer, and both in the heads tokens and span as well"),
    CSE_BERT_ROW("use_classifier_bias", BOOL, "true", "bias of that layer, and of masked's"),
    CSE_BERT_RANGE("num_labels", INTEGER, "2", 1, 1 << 20, "outputs of sequence and tokens"),
    CSE_BERT_RANGE("num_choices", INTEGER, "null", 2, 1 << 16,
                   "head choice: the tokens of a sample are those of so many texts, one behind the "
                   "other; null: they have a dimension of their own"),
    CSE_BERT_CHOICE("problem_type", "single_label_classification", CSE_PROBLEM_TYPES,
                    "the loss of sequence: cross entropy, squared error, or of a sigmoid each"),
    CSE_BERT_RANGE("task_dropout", NUMBER, "0.1", 0, 0.999, "dropout before the last layer"),
    CSE_BERT_CHOICE("pooling", "null", CSE_POOLING_NAMES,
                    "how tokens make one vector of a text: with head base, whose predictions they "
                    "then are, and of heads of texts without a pooler; null: not, or cls"),
    CSE_BERT_ROW("normalize", BOOL, "false", "head base: vectors of texts have the length 1"),
    CSE_BERT_RANGE("contrastive_scale", NUMBER, "20", 1e-6, 1e6,
                   "head base: cosines are multiplied by this in the contrastive loss"),
    CSE_BERT_CHOICE("norm_type", "layernorm", "layernorm|biasless-layernorm|rmsnorm",
                    "all norms of the model"),
    CSE_BERT_ROW("first_attention_norm", BOOL, "true", "norm_first: block 0 has its first norm"),
    CSE_BERT_ROW("rotary_in_halves", BOOL, "false",
                 "a channel turns with that half a head away, not with its neighbour"),
    CSE_BERT_RANGE("local_attention_window", INTEGER, "null", 2, 1 << 24,
                   "local layers: a token sees half as many on each side; null: none is local"),
    CSE_BERT_RANGE("global_attention_every", INTEGER, "3", 1, CSE_BERT_LAYERS,
                   "of so many layers the first is not local"),
    CSE_BERT_RANGE("local_rope_theta", NUMBER, "10000", 1e-6, 1e12, "rope_theta in local layers"),
    CSE_BERT_RANGE("attention_output_dropout_rate", NUMBER, "null", 0, 0.999,
                   "dropout of attention's output; null: dropout_rate"),
    CSE_BERT_RANGE("ffn_inner_dropout_rate", NUMBER, "0", 0, 0.999,
                   "dropout within the feed-forward networks"),
    { .name = NULL },
};

static cse_bert_layers read_layers(const cse_settings *s)
{
    const bool has_local = cse_settings_has(s, "local_attention_window");
    const bool has_output = cse_settings_has(s, "attention_output_dropout_rate");
    return (cse_bert_layers){
        .norm = cse_settings_text(s, "norm_type"),
        .first_lacks_norm = !cse_settings_bool(s, "first_attention_norm"),
        .rotates_halves = cse_settings_bool(s, "rotary_in_halves"),
        .window = has_local ? cse_settings_integer(s, "local_attention_window") / 2 : 0,
        .global_every = cse_settings_integer(s, "global_attention_every"),
        .local_theta = cse_settings_number(s, "local_rope_theta"),
        .has_attention_output = has_output,
        .attention_output_dropout =
            has_output ? cse_settings_number(s, "attention_output_dropout_rate") : 0,
        .inner_dropout = cse_settings_number(s, "ffn_inner_dropout_rate"),
        .counts_rows = true,
    };
}

static cse_status check(const cse_settings *s, cse_text_head head)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    if (head == CSE_HEAD_SEQUENCE)
        CSE_TRY(cse_check_class_problem(s));
    if (!cse_settings_bool(s, "first_attention_norm") && !cse_settings_bool(s, "norm_first"))
        return cse_fail(CSE_CONFIG, "first_attention_norm (%s) is of norm_first",
                        cse_settings_origin(s, "first_attention_norm"));
    if (head == CSE_HEAD_NEXT_SENTENCE && !cse_settings_bool(s, "pooler"))
        return cse_fail(CSE_CONFIG, "head next_sentence (%s) needs the pooler",
                        cse_settings_origin(s, "head"));
    if (cse_settings_bool(s, "normalize") &&
        (head != CSE_HEAD_BASE || !cse_settings_has(s, "pooling")))
        return cse_fail(CSE_CONFIG, "normalize (%s) is of head base with pooling",
                        cse_settings_origin(s, "normalize"));
    return CSE_OK;
}

static cse_status build(cse_model *model, const cse_settings *s)
{
    cse_text_encoder *self = cse_model_self(model);
    self->head = cse_text_head_named(cse_settings_text(s, "head"));
    CSE_TRY(check(s, self->head));
    const cse_bert_options options = {
        .prefix = "encoder",
        .pools = cse_text_head_pools(self->head, s),
        .pad_setting = "pad_token_id",
        .dropped_token = -1,
        .segments =
            cse_settings_has(s, "num_segments") ? cse_settings_integer(s, "num_segments") : 0,
        .embedding_dropout = cse_settings_number(s, cse_settings_has(s, "embedding_dropout_rate")
                                                        ? "embedding_dropout_rate"
                                                        : "dropout_rate"),
        .layers = read_layers(s),
    };
    CSE_TRY(cse_bert_build(model, &self->encoder, s, &options));
    cse_text_head_build(model, self, s);
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const cse_text_encoder *self = cse_model_self(model);
    cse_bert_inputs inputs = self->inputs;
    inputs.tokens = input;
    return cse_text_head_apply(model, self, &inputs);
}

static cse_tensor *loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    cse_text_encoder *self = cse_model_self(model);
    cse_tensor *result = NULL;
    self->inputs = cse_bert_step_inputs(step);
    *predictions = cse_forward(model, self->inputs.tokens);
    self->inputs = (cse_bert_inputs){ .tokens = NULL };
    CSE_SCOPE(step, "loss")
    {
        result = cse_text_head_loss(model, self, step, *predictions);
    }
    return result;
}

const cse_model_descriptor cse_model_text_encoder = {
    .name = "text_encoder",
    .summary = "encoder of text of many kinds, with heads: BERT, RoBERTa, DistilBERT, ModernBERT, "
               "vectors of sentences",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_text_encoder),
    .build = build,
    .forward = forward,
    .loss = loss,
};
