/* Heads differ in whose vectors they read (the tokens' or the sample's), in whether a dense layer
 * stands before the last one, and in how many numbers they make.
 *
 * Parameters, with the name of the head, so that the weights of one never begin another: as
 * sequence_head.transform, the dense layer; sequence_head.norm behind it; sequence_head.output, the
 * last one, whose weight is that of the word embeddings with masked where they are shared. */
#include "engine/nn/models/text_heads.h"

#include <math.h>
#include <string.h>

#include "engine/graph/trace/trace.h"
#include "engine/nn/models/class_loss.h"
#include "engine/nn/models/sentence_vectors.h"

cse_text_head cse_text_head_named(const char *name)
{
    const char *at = strstr(CSE_TEXT_HEAD_NAMES, name);
    int number = 0;
    for (const char *c = CSE_TEXT_HEAD_NAMES; c < at; c++)
        number += *c == '|';
    return (cse_text_head)number;
}

static bool reads_samples(cse_text_head head)
{
    return head == CSE_HEAD_SEQUENCE || head == CSE_HEAD_CHOICE || head == CSE_HEAD_NEXT_SENTENCE;
}

bool cse_text_head_pools(cse_text_head head, const cse_settings *s)
{
    const bool has_own = head == CSE_HEAD_SEQUENCE && cse_settings_has(s, "classifier_activation");
    return cse_settings_bool(s, "pooler") &&
           (head == CSE_HEAD_BASE || (reads_samples(head) && !has_own));
}

static bool has_transform(cse_text_head head, const cse_settings *s)
{
    if (head == CSE_HEAD_MASKED)
        return true;
    return head != CSE_HEAD_BASE && cse_settings_has(s, "classifier_activation") &&
           (reads_samples(head) ? !cse_text_head_pools(head, s)
                                : cse_settings_bool(s, "classifier_norm"));
}

static int64_t output_count(cse_text_head head, const cse_settings *s)
{
    return head == CSE_HEAD_CHOICE ? 1
           : head == CSE_HEAD_SPAN || head == CSE_HEAD_NEXT_SENTENCE
               ? 2
               : cse_settings_integer(s, "num_labels");
}

/* "sequence_head.output". */
static const char *named(cse_model *model, const char *part)
{
    const char *head = cse_settings_text(cse_model_settings_view(model), "head");
    return cse_model_text(model, "%s_head.%s", head, part);
}

static void build_masked(cse_model *model, cse_text_encoder *self, const cse_settings *s,
                         cse_initial initial)
{
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const int64_t words = cse_settings_integer(s, "vocab_size");
    if (!cse_settings_bool(s, "share_embedding_weights"))
        self->table = cse_table_parameters(model, named(model, "output"), words, hidden, initial);
    if (cse_settings_bool(s, "use_output_bias_in_mlm"))
        self->table_bias = cse_parameter(model, named(model, "output.bias"), cse_shape_of(words),
                                         cse_initial_constant(0).fixed);
}

void cse_text_head_build(cse_model *model, cse_text_encoder *self, const cse_settings *s)
{
    const int64_t hidden = cse_settings_integer(s, "hidden_size");
    const cse_initial initial =
        cse_initial_truncated_normal(cse_settings_number(s, "initializer_range"));
    const bool is_masked = self->head == CSE_HEAD_MASKED;
    const char *activation =
        cse_settings_text(s, is_masked ? "mlm_nonlinearity" : "classifier_activation");
    self->transform_activation =
        activation != NULL ? activation : cse_settings_text(s, "encoder_nonlinearity");
    if (has_transform(self->head, s))
        self->transform = cse_linear_module(
            model, named(model, "transform"), hidden, hidden,
            &(cse_linear_options){ .weight = initial,
                                   .no_bias = !cse_settings_bool(s, "use_classifier_bias") });
    if (self->transform.weight != NULL && (is_masked || cse_settings_bool(s, "classifier_norm")))
        self->transform_norm =
            cse_norm_parameters(model, named(model, "norm"), self->encoder.block.norm, hidden,
                                self->encoder.block.epsilon);
    if (is_masked)
        build_masked(model, self, s, initial);
    else if (self->head != CSE_HEAD_BASE)
        self->output =
            cse_linear_module(model, named(model, "output"), hidden, output_count(self->head, s),
                              &(cse_linear_options){ .weight = initial });
}

/* ---- predictions ---- */

static cse_tensor *joined(cse_tensor *x, cse_shape shape)
{
    return x != NULL && !cse_trace_is_poison(x)
               ? cse_reshape(x, cse_shape_of(shape.dims[0] * shape.dims[1], shape.dims[2]))
               : x;
}

/* [batch, texts, time], also where texts stand behind one another. */
static cse_shape shape_of_texts(const cse_model *model, const cse_text_encoder *self,
                                cse_tensor *tokens)
{
    const cse_settings *s = cse_model_settings_view(model);
    const cse_shape shape = cse_tensor_shape(tokens);
    const int64_t texts = self->head == CSE_HEAD_CHOICE && cse_settings_has(s, "num_choices")
                              ? cse_settings_integer(s, "num_choices")
                              : 0;
    return texts > 0 && shape.rank == 2 && shape.dims[1] % texts == 0
               ? cse_shape_of(shape.dims[0], texts, shape.dims[1] / texts)
               : shape;
}

/* [batch, texts, time] as [batch * texts, time]. */
static cse_bert_inputs with_texts_joined(const cse_bert_inputs *inputs, cse_shape shape)
{
    return (cse_bert_inputs){ .tokens = joined(inputs->tokens, shape),
                              .attention_mask = joined(inputs->attention_mask, shape),
                              .segments = joined(inputs->segments, shape) };
}

/* What a head of samples reads: [batch, channel]. */
static cse_tensor *sample_vectors(const cse_model *model, const cse_text_encoder *self,
                                  cse_tensor *x, cse_tensor *mask)
{
    const char *pooling = cse_settings_text(cse_model_settings_view(model), "pooling");
    if (self->encoder.pooler.weight != NULL)
        return cse_bert_pool(&self->encoder, x);
    return cse_pool_tokens(pooling != NULL ? pooling : "cls", x, mask);
}

static cse_tensor *base_vectors(const cse_model *model, cse_tensor *x, cse_tensor *mask)
{
    const cse_settings *s = cse_model_settings_view(model);
    const char *pooling = cse_settings_text(s, "pooling");
    if (pooling == NULL)
        return x;
    x = cse_pool_tokens(pooling, x, mask);
    return cse_settings_bool(s, "normalize") ? cse_normalize_vectors(x) : x;
}

static cse_tensor *last_layer(const cse_text_encoder *self, cse_tensor *x)
{
    if (self->head != CSE_HEAD_MASKED)
        return cse_apply_linear(self->output, x);
    cse_tensor *weight = cse_read(self->table != NULL ? self->table : self->encoder.words);
    return cse_linear(x, weight, self->table_bias != NULL ? cse_read(self->table_bias) : NULL);
}

static cse_tensor *head_of(const cse_model *model, const cse_text_encoder *self, cse_tensor *x,
                           cse_tensor *mask)
{
    const cse_settings *s = cse_model_settings_view(model);
    const double dropout =
        self->head == CSE_HEAD_MASKED ? 0 : cse_settings_number(s, "task_dropout");
    x = reads_samples(self->head) ? sample_vectors(model, self, x, mask) : x;
    if (self->transform.weight != NULL) {
        x = cse_activate(self->transform_activation, cse_apply_linear(self->transform, x));
        x = self->transform_norm.weight != NULL ? cse_apply_norm(&self->transform_norm, x) : x;
    }
    return last_layer(self, cse_apply_dropout(model, dropout, x, "input"));
}

/* Predictions of joined texts as those of their samples. */
static cse_tensor *apart(const cse_text_encoder *self, cse_tensor *x, cse_shape texts)
{
    if (cse_trace_is_poison(x))
        return x;
    const cse_shape shape = cse_tensor_shape(x);
    if (self->head == CSE_HEAD_CHOICE)
        return cse_reshape(x, cse_shape_of(texts.dims[0], texts.dims[1]));
    return shape.rank == 2
               ? cse_reshape(x, cse_shape_of(texts.dims[0], texts.dims[1], shape.dims[1]))
               : cse_reshape(
                     x, cse_shape_of(texts.dims[0], texts.dims[1], shape.dims[1], shape.dims[2]));
}

cse_tensor *cse_text_head_apply(cse_model *model, const cse_text_encoder *self,
                                const cse_bert_inputs *inputs)
{
    if (cse_trace_is_poison(inputs->tokens))
        return inputs->tokens;
    const cse_shape shape = shape_of_texts(model, self, inputs->tokens);
    const bool is_base = self->head == CSE_HEAD_BASE, has_texts = shape.rank == 3;
    if (has_texts != (self->head == CSE_HEAD_CHOICE) && !(is_base && has_texts))
        return cse_trace_fail(CSE_SHAPE, "head %s takes tokens [batch, %s], not rank %d",
                              cse_settings_text(cse_model_settings_view(model), "head"),
                              self->head == CSE_HEAD_CHOICE
                                  ? "choices, time], or [batch, num_choices * time"
                                  : "time",
                              cse_tensor_shape(inputs->tokens).rank);
    const cse_bert_inputs flat = has_texts ? with_texts_joined(inputs, shape) : *inputs;
    cse_tensor *x = cse_bert_encode(model, &self->encoder, &flat);
    CSE_MODULE(NULL, "head", CSE_MODULE_HEAD)
    {
        x = is_base ? base_vectors(model, x, flat.attention_mask)
                    : head_of(model, self, x, flat.attention_mask);
        x = has_texts ? apart(self, x, shape) : x;
    }
    return x;
}

/* ---- losses ---- */

/* One label of each sample. */
static cse_tensor *loss_of_samples(cse_tensor *logits, cse_tensor *labels)
{
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(labels))
        return logits;
    return cse_classification_loss(
        logits, cse_reshape(labels, cse_shape_of(cse_tensor_shape(logits).dims[0])));
}

/* logits [batch, time, 2]. An end of an answer that is not in the sample has no label. The mean is
 * over both ends of all samples. */
static cse_tensor *span_loss(cse_step *step, cse_tensor *logits)
{
    cse_tensor *begin = cse_step_input(step, "start_positions");
    cse_tensor *end = cse_step_input(step, "end_positions");
    if (cse_trace_is_poison(logits) || cse_trace_is_poison(begin) || cse_trace_is_poison(end))
        return logits;
    const cse_shape shape = cse_tensor_shape(logits);
    const cse_shape column = cse_shape_of(shape.dims[0], 1);
    begin = cse_reshape(begin, column);
    end = cse_reshape(end, column);
    cse_tensor *both[] = { begin, end };
    cse_tensor *labels = cse_concat(both, 2, 1);
    cse_tensor *is_there = cse_less(labels, cse_constant_int((int32_t)shape.dims[1]));
    labels = cse_where(is_there, cse_maximum(labels, cse_constant_int(0)), cse_constant_int(-100));
    return cse_classification_loss(cse_transpose(logits, cse_axes(0, 2, 1)), labels);
}

static cse_tensor *base_loss(const cse_model *model, cse_tensor *vectors)
{
    const cse_settings *s = cse_model_settings_view(model);
    if (cse_trace_is_poison(vectors))
        return vectors;
    if (cse_settings_has(s, "pooling") && cse_tensor_shape(vectors).rank == 3)
        return cse_contrastive_loss(vectors, cse_settings_number(s, "contrastive_scale"));
    if (cse_is_training(model))
        return cse_trace_fail(CSE_CONFIG,
                              "head base has a loss with pooling alone, and samples of several "
                              "texts, tokens [batch, texts, time] (input function text_pairs); "
                              "other heads: " CSE_TEXT_HEAD_NAMES);
    return cse_constant((double)NAN); /* predictions need none */
}

static cse_tensor *label_input(const cse_model *model, const cse_text_encoder *self, cse_step *step)
{
    cse_tensor *labels = NULL;
    if (self->head == CSE_HEAD_NEXT_SENTENCE)
        labels = cse_step_optional_input(step, "next_sentence_label");
    labels = labels != NULL ? labels : cse_step_optional_input(step, "labels");
    return labels != NULL || !cse_is_training(model) ? labels : cse_step_input(step, "labels");
}

cse_tensor *cse_text_head_loss(cse_model *model, const cse_text_encoder *self, cse_step *step,
                               cse_tensor *predictions)
{
    if (self->head == CSE_HEAD_BASE)
        return base_loss(model, predictions);
    if (self->head == CSE_HEAD_SPAN &&
        (cse_is_training(model) || cse_step_optional_input(step, "start_positions") != NULL))
        return span_loss(step, predictions);
    cse_tensor *labels = self->head != CSE_HEAD_SPAN ? label_input(model, self, step) : NULL;
    if (labels == NULL)
        return cse_constant((double)NAN); /* predictions need none */
    if (self->head == CSE_HEAD_SEQUENCE)
        return cse_text_class_loss(
            cse_settings_text(cse_model_settings_view(model), "problem_type"), predictions, labels);
    return reads_samples(self->head) ? loss_of_samples(predictions, labels)
                                     : cse_classification_loss(predictions, labels);
}
