/* bert/classifier: BERT's encoder and a linear layer over its pooled first token (Devlin et al.
 * 2019), which classifies sentences or pairs of them.
 *
 * Inputs of a step: input_ids, attention_mask, token_type_ids, labels: int32 [batch] of a single
 * class, float32 [batch] of a regression, float32 [batch, num_labels] of several classes at once.
 * Parameters besides the encoder's, whose prefix is bert: classifier.weight and .bias. */
#include "engine/graph/trace/trace.h"
#include "engine/nn/models/bert_encoder.h"
#include "engine/nn/models/class_loss.h"

typedef struct bert_classifier {
    cse_bert_encoder encoder;
    cse_linear_layer classifier;
    cse_bert_inputs inputs; /* of the forward pass that is traced */
} bert_classifier;

static const cse_setting settings[] = {
    CSE_BERT_SETTINGS("30522", "1024", "2", "0.1", "false"),
    CSE_BERT_RANGE("embedding_pad_token_id", INTEGER, "0", 0, 1 << 24,
                   "padding, whose embedding is not trained"),
    CSE_ALIAS_SETTING("pad_token_id", "embedding_pad_token_id"),
    CSE_BERT_RANGE("num_labels", INTEGER, "2", 1, 1 << 20, "outputs"),
    CSE_BERT_CHOICE("problem_type", "single_label_classification", CSE_PROBLEM_TYPES,
                    "which loss: cross entropy, squared error, or of a sigmoid each"),
    CSE_BERT_RANGE("task_dropout", NUMBER, "0.1", 0, 0.999, "dropout before the last layer"),
    CSE_BERT_ROW("mlm_loss_weight", ANY, "null", "of another model of this encoder; no effect"),
    CSE_BERT_ROW("mlm_nonlinearity", ANY, "null", "of another model of this encoder; no effect"),
    CSE_BERT_ROW("share_embedding_weights", ANY, "null",
                 "of another model of this encoder; no effect"),
    CSE_UNSUPPORTED_SETTING("add_pooling_layer", "true", "the classifier needs it"),
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    bert_classifier *self = cse_model_self(model);
    const cse_bert_options options = {
        .prefix = "bert",
        .pools = true,
        .pad_setting = "embedding_pad_token_id",
        .dropped_token = -1,
        .segments = cse_settings_integer(s, "num_segments"),
        .embedding_dropout = cse_settings_number(s, cse_settings_has(s, "embedding_dropout_rate")
                                                        ? "embedding_dropout_rate"
                                                        : "dropout_rate"),
    };
    CSE_TRY(cse_refuse_unsupported(settings, s));
    CSE_TRY(cse_check_class_problem(s));
    CSE_TRY(cse_bert_build(model, &self->encoder, s, &options));
    self->classifier =
        cse_linear_module(model, "classifier", cse_settings_integer(s, "hidden_size"),
                          cse_settings_integer(s, "num_labels"),
                          &(cse_linear_options){ .weight = cse_initial_normal(0.02) });
    return CSE_OK;
}

static cse_tensor *forward(cse_model *model, cse_tensor *input)
{
    const bert_classifier *self = cse_model_self(model);
    const double dropout = cse_settings_number(cse_model_settings_view(model), "task_dropout");
    cse_bert_inputs inputs = self->inputs;
    inputs.tokens = input;
    cse_tensor *x = cse_bert_encode(model, &self->encoder, &inputs);
    CSE_MODULE(NULL, "classifier", CSE_MODULE_HEAD)
    {
        x = cse_apply_dropout(model, dropout, cse_bert_pool(&self->encoder, x), "input");
        x = cse_apply_linear(self->classifier, x);
    }
    return x;
}

static cse_tensor *loss(cse_model *model, cse_step *step, cse_tensor **predictions)
{
    bert_classifier *self = cse_model_self(model);
    const cse_settings *s = cse_model_settings_view(model);
    cse_tensor *labels = cse_step_input(step, "labels"), *result = NULL;
    self->inputs = cse_bert_step_inputs(step);
    *predictions = cse_forward(model, self->inputs.tokens);
    self->inputs = (cse_bert_inputs){ .tokens = NULL };
    CSE_SCOPE(step, "loss")
    {
        result = cse_text_class_loss(cse_settings_text(s, "problem_type"), *predictions, labels);
    }
    return result;
}

const cse_model_descriptor cse_model_bert_classifier = {
    .name = "bert/classifier",
    .summary = "classifier of text by an encoder of the BERT kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(bert_classifier),
    .build = build,
    .forward = forward,
    .loss = loss,
};
