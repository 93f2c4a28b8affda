/* Pre-training of an encoder of the BERT kind: the heads, and the losses of masked tokens and of
 * sentences.
 *
 *   tokens -> encoder -> [masked positions] -> linear -> activation -> norm -> logits
 *                     -> pooler of the first token -> linear -> next sentence or not
 *
 * Inputs of a step: input_ids, attention_mask, token_type_ids, masked_lm_positions, masked_lm_mask,
 * labels, next_sentence_label, mlm_loss_scale, and for several sequences in a sample attention_span
 * and position_ids. The loss of tokens is their sum over the number of
 * samples, times mlm_loss_weight, that of sentences a mean, as in the ModelZoo. The outputs are the
 * logits of all tokens. Parameters besides the encoder's: bert_cls_head.classifier.ffn.0,
 * bert_mlm_head.mlm_transform.ffn.ffn.0 and .ln, bert_mlm_head.classifier.ffn.0, whose weight is
 * that of the word embeddings where they are shared. */
#include <string.h>

#include "engine/graph/trace/trace.h"
#include "engine/nn/models/bert_pretraining.h"

typedef cse_bert_pretraining bert;

cse_status cse_bert_pretraining_build(cse_model *model, const cse_settings *s,
                                      int32_t dropped_token)
{
    bert *self = cse_model_self(model);
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const bool nsp = !cse_settings_bool(s, "disable_nsp");
    const cse_initial initial =
        cse_initial_truncated_normal(cse_settings_number(s, "initializer_range"));
    const cse_bert_options options = {
        .prefix = "bert_encoder",
        .pools = nsp,
        .pad_setting = "pad_token_id",
        .dropped_token = dropped_token,
        .segments = cse_settings_has(s, "num_segments") ? cse_settings_integer(s, "num_segments")
                    : nsp                               ? 2
                                                        : 0,
        .embedding_dropout = cse_settings_number(s, cse_settings_has(s, "embedding_dropout_rate")
                                                        ? "embedding_dropout_rate"
                                                        : "dropout_rate"),
    };
    CSE_TRY(cse_bert_build(model, &self->encoder, s, &options));
    if (nsp)
        self->sentence = cse_linear_module(
            model, "bert_cls_head.classifier.ffn.0.linear_layer", hidden,
            cse_settings_integer(s, "num_classes"),
            &(cse_linear_options){ .weight = initial,
                                   .no_bias = !cse_settings_bool(s, "use_ffn_bias") });
    self->transform = cse_linear_module(
        model, "bert_mlm_head.mlm_transform.ffn.ffn.0.linear_layer", hidden, hidden,
        &(cse_linear_options){ .weight = initial,
                               .no_bias = !cse_settings_bool(s, "use_ffn_bias_in_mlm") });
    self->transform_norm = cse_norm_parameters(model, "bert_mlm_head.mlm_transform.ln", "layernorm",
                                               hidden, self->encoder.block.epsilon);
    if (!cse_settings_bool(s, "share_embedding_weights"))
        self->output = cse_table_parameters(model, "bert_mlm_head.classifier.ffn.0.linear_layer",
                                            cse_settings_integer(s, "vocab_size"), hidden, initial);
    if (cse_settings_bool(s, "use_output_bias_in_mlm"))
        self->output_bias = cse_parameter(model, "bert_mlm_head.classifier.ffn.0.linear_layer.bias",
                                          cse_shape_of(cse_settings_integer(s, "vocab_size")),
                                          cse_initial_constant(0).fixed);
    return CSE_OK;
}

static cse_tensor *token_logits(cse_model *model, cse_tensor *x)
{
    const bert *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    const char *activation = cse_settings_text(s, "mlm_nonlinearity");
    activation = activation != NULL ? activation : cse_settings_text(s, "encoder_nonlinearity");
    CSE_MODULE(NULL, "bert_mlm_head", CSE_MODULE_HEAD)
    {
        x = cse_activate(activation, cse_apply_linear(self->transform, x));
        x = cse_apply_norm(&self->transform_norm, x);
        cse_tensor *weight = cse_read(self->output != NULL ? self->output : self->encoder.words);
        x = cse_linear(x, weight, self->output_bias != NULL ? cse_read(self->output_bias) : NULL);
        x = self->encoder.logits_scale != 1 ? cse_scale(x, self->encoder.logits_scale) : x;
    }
    return x;
}

cse_tensor *cse_bert_pretraining_forward(cse_model *model, cse_tensor *input)
{
    const bert *self = cse_model_self(model);
    const cse_bert_inputs inputs = { .tokens = input };
    return token_logits(model, cse_bert_encode(model, &self->encoder, &inputs));
}

static cse_tensor *token_loss(cse_model *model, cse_tensor *logits, const cse_bert_targets *targets)
{
    const cse_settings *s = cse_model_settings_view(model);
    const cse_lm_loss_options options = {
        .by_batch = cse_settings_text(s, "mlm_loss_scaling")[0] == 'b',
        .weight = targets->scale != NULL ? 1 : cse_settings_number(s, "mlm_loss_weight"),
        .label_smoothing = cse_is_training(model) ? cse_settings_number(s, "label_smoothing") : 0,
    };
    cse_tensor *mask = targets->mask;
    if (targets->scale != NULL) {
        cse_tensor *scale = cse_cast(targets->scale, CSE_FLOAT32);
        mask = mask != NULL ? cse_mul(cse_cast(mask, CSE_FLOAT32), scale) : scale;
    }
    return cse_lm_loss(logits, targets->labels, mask, &options);
}

static cse_tensor *sentence_loss(const bert *self, cse_tensor *x, cse_tensor *labels)
{
    cse_tensor *logits = NULL;
    CSE_MODULE(NULL, "bert_cls_head", CSE_MODULE_HEAD)
    {
        logits = cse_apply_linear(self->sentence, cse_bert_pool(&self->encoder, x));
        if (self->encoder.logits_scale != 1)
            logits = cse_scale(logits, self->encoder.logits_scale);
    }
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels))
        return logits;
    /* Every sample has one, so that the mean needs no count, by which the sum of both losses would
     * have two backward passes. */
    labels = cse_reshape(labels, cse_shape_of(cse_tensor_shape(logits).dims[0]));
    const cse_cross_entropy_options each = { .reduction = CSE_REDUCTION_NONE,
                                             .has_ignore_index = true,
                                             .ignore_index = INT32_MIN };
    return cse_mean_all(cse_cross_entropy_with(logits, labels, &each));
}

cse_tensor *cse_bert_losses(cse_model *model, const cse_bert_inputs *inputs,
                            const cse_bert_targets *targets, cse_tensor **predictions)
{
    const bert *self = cse_model_self(model);
    cse_tensor *x = cse_bert_encode(model, &self->encoder, inputs);
    cse_tensor *focused =
        targets->positions != NULL ? cse_gather_positions(x, targets->positions) : x;
    *predictions = token_logits(model, focused);
    cse_tensor *loss = token_loss(model, *predictions, targets);
    return self->sentence.weight != NULL
               ? cse_add(loss, sentence_loss(self, x, targets->next_sentence))
               : loss;
}

/* Labels for each token are not gathered, and neither is their mask. */
cse_tensor *cse_bert_pretraining_loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    const bert *self = cse_model_self(model);
    const cse_bert_inputs inputs = cse_bert_step_inputs(step);
    cse_bert_targets targets = { .labels = cse_step_input(step, "labels"),
                                 .positions = cse_step_optional_input(step, "masked_lm_positions"),
                                 .mask = cse_step_optional_input(step, "masked_lm_mask"),
                                 .scale = cse_step_optional_input(step, "mlm_loss_scale") };
    cse_tensor *result = NULL;
    if (cse_shape_equal(cse_tensor_shape(targets.labels), cse_tensor_shape(inputs.tokens)))
        targets.positions = NULL;
    if (self->sentence.weight != NULL)
        targets.next_sentence = cse_step_input(step, "next_sentence_label");
    CSE_SCOPE(step, "model")
    {
        result = cse_bert_losses(model, &inputs, &targets, predictions);
    }
    return result;
}
