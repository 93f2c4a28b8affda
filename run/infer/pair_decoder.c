/* Two passes are traced from the model's loss, as predictions are. That over the prompt hands out
 * the keys and values of the attentions to the encoder's output; the one over a token of the
 * decoder takes them as inputs, so that the encoder is no part of it. Attentions of the decoder's
 * own tokens are the causal ones; those to the encoder have one query. */
#include "run/infer/pair_decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/types/shape.h"
#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/handles.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/infer/traced_predictions.h"

enum { MOST_LAYERS = 1024 };

/* An attention: outputs of a pass and inputs of that over one token, keys and values. */
typedef struct kept {
    cse_shape shapes[2];
    int outputs[2], inputs[2];
} kept;

struct cse_pair_decoder {
    cse_model *model;
    int64_t prompt_tokens, max_tokens; /* of the compiled passes */
    int64_t count;                     /* tokens of the text so far */
    int32_t start;
    cse_inference *prompt, *one, *traced;
    kept own[MOST_LAYERS], cross[MOST_LAYERS];
    int own_count, cross_count, wanted_cross;
    int token_input, past_input, mask_input, logits_output;
    int64_t vocabulary, source_vocabulary;
};

/* ---- the model ---- */

static bool has(const cse_model *model, const char *name)
{
    return cse_setting_table_has(model->descriptor->settings, name) &&
           cse_settings_has(model->settings, name);
}

static int64_t setting(const cse_model *model, const char *name, int64_t otherwise)
{
    return has(model, name) ? cse_settings_integer(model->settings, name) : otherwise;
}

bool cse_model_takes_pairs(const cse_model *model)
{
    return cse_setting_table_has(model->descriptor->settings, "decoder_start_token_id");
}

int32_t cse_pair_start_token(const cse_model *model)
{
    return (int32_t)setting(model, "decoder_start_token_id", setting(model, "pad_token_id", 0));
}

int32_t cse_pair_end_token(const cse_model *model)
{
    return (int32_t)setting(model, "eos_token_id", -1);
}

int64_t cse_longest_of_pair(const cse_model *model, bool of_decoder)
{
    return setting(model,
                   of_decoder ? "tgt_max_position_embeddings" : "src_max_position_embeddings", 0);
}

/* ---- attention ---- */

static int add_input(cse_pair_decoder *decoder, const char *name, cse_shape shape,
                     cse_tensor **tensor)
{
    const cse_stream stream = { name, shape, CSE_FLOAT32 };
    const int index = cse_trace_graph()->input_count;
    *tensor = cse_inference_input(decoder->traced, &stream);
    return index;
}

static bool is_poison(const cse_tensor *q, const cse_tensor *k, const cse_tensor *v)
{
    return cse_trace_is_poison(q) || cse_trace_is_poison(k) || cse_trace_is_poison(v);
}

/* An attention of one query to the encoder's output. */
static bool is_cross(const cse_pair_decoder *decoder, const cse_tensor *q, const cse_tensor *k,
                     const cse_attention_options *options)
{
    return !options->causal && q->shape.dims[2] == 1 && k->shape.dims[2] == decoder->prompt_tokens;
}

static void hand_out(cse_pair_decoder *decoder, kept *k, const char *what, cse_tensor *const two[2])
{
    char name[48];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s.%s.%d", what, i == 0 ? "keys" : "values",
                 decoder->own_count + decoder->cross_count);
        k->shapes[i] = two[i]->shape;
        k->outputs[i] = cse_inference_output(decoder->traced, name, two[i]);
    }
}

/* Of the pass over the prompt, whose decoder sees a token that nobody asks for. */
static cse_tensor *attend_prompt(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                                 const cse_attention_options *options)
{
    cse_pair_decoder *decoder = self;
    if (!is_poison(q, k, v) && is_cross(decoder, q, k, options) &&
        decoder->cross_count < MOST_LAYERS) {
        hand_out(decoder, &decoder->cross[decoder->cross_count], "cross",
                 (cse_tensor *const[]){ k, v });
        decoder->cross_count++;
    }
    return cse_plain_attention(q, k, v, options);
}

static cse_tensor *attend_cross(cse_pair_decoder *decoder, cse_tensor *q,
                                const cse_attention_options *options)
{
    kept *k = &decoder->cross[decoder->cross_count];
    cse_tensor *two[2];
    char name[48];
    for (int i = 0; i < 2; i++) {
        const cse_shape shape = k->shapes[i];
        snprintf(name, sizeof name, "cross.%s.%d", i == 0 ? "keys" : "values",
                 decoder->cross_count);
        k->inputs[i] = add_input(
            decoder, name, cse_shape_of(shape.dims[1], shape.dims[2], shape.dims[3]), &two[i]);
        two[i] = cse_cast(two[i], q->dtype);
    }
    decoder->cross_count++;
    return cse_plain_attention(q, two[0], two[1], options);
}

/* The rows before, this one at its place, and zeros after it, which nobody sees. */
static cse_tensor *attend_own(cse_pair_decoder *decoder, cse_tensor *q, cse_tensor *const rows[2],
                              const cse_attention_options *options)
{
    const int64_t most = decoder->max_tokens;
    kept *k = &decoder->own[decoder->own_count];
    cse_tensor *past = cse_reshape(cse_trace_decoding()->past, cse_shape_of(1, 1, 1, 1));
    cse_tensor *places = cse_iota(most, 0, 1), *all[2];
    cse_tensor *is_here = cse_equal(cse_reshape(places, cse_shape_of(1, 1, most, 1)), past);
    cse_tensor *mask = cse_less_equal(cse_reshape(places, cse_shape_of(1, 1, 1, most)), past);
    char name[48];
    for (int i = 0; i < 2; i++) {
        const cse_shape shape = rows[i]->shape;
        snprintf(name, sizeof name, "own.%s.%d", i == 0 ? "keys" : "values", decoder->own_count);
        k->inputs[i] =
            add_input(decoder, name, cse_shape_of(shape.dims[1], most, shape.dims[3]), &all[i]);
        all[i] = cse_where(is_here, rows[i], cse_cast(all[i], rows[i]->dtype));
    }
    hand_out(decoder, k, "own", rows);
    decoder->own_count++;
    if (options->mask != NULL)
        mask = cse_where(mask, options->mask, cse_constant(-1e30));
    return cse_plain_attention(
        q, all[0], all[1],
        &(cse_attention_options){ .scale = options->scale, .mask = mask, .cap = options->cap });
}

static cse_tensor *attend_one(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                              const cse_attention_options *options)
{
    cse_pair_decoder *decoder = self;
    if (is_poison(q, k, v))
        return cse_trace_graph()->poison;
    if (is_cross(decoder, q, k, options) && decoder->cross_count < decoder->wanted_cross)
        return attend_cross(decoder, q, options);
    if (!options->causal)
        return cse_plain_attention(q, k, v, options); /* of the encoder: nobody takes its output */
    if (options->window > 0 || options->key_lengths != NULL || options->spans != NULL ||
        decoder->own_count == MOST_LAYERS)
        return cse_trace_fail(CSE_SHAPE, "model %s cannot be decoded token by token",
                              decoder->model->descriptor->name);
    return attend_own(decoder, q, (cse_tensor *const[]){ k, v }, options);
}

/* ---- the two passes ---- */

static int declare_tokens(cse_pair_decoder *decoder, const char *name, int64_t count)
{
    const int index = cse_trace_graph()->input_count;
    cse_inference_input(decoder->traced, &(cse_stream){ name, cse_shape_of(count), CSE_INT32 });
    return index;
}

/* Logits [1, 1, vocabulary]. */
static cse_tensor *trace_logits(cse_pair_decoder *decoder, const cse_decoding *decoding)
{
    cse_trace_graph()->decoding = decoding;
    cse_tensor *logits = cse_trace_predictions(decoder->model, cse_inference_step(decoder->traced));
    cse_trace_graph()->decoding = NULL;
    if (cse_trace_is_poison(logits))
        return logits;
    if (logits->shape.rank != 3 || logits->shape.dims[1] != 1)
        return cse_trace_fail(CSE_SHAPE, "model %s gives no logits [batch, time, vocabulary]",
                              decoder->model->descriptor->name);
    decoder->vocabulary = logits->shape.dims[2];
    return logits;
}

static void declare_pair(cse_pair_decoder *decoder, cse_inference *inference)
{
    decoder->traced = inference;
    decoder->own_count = decoder->cross_count = 0;
    declare_tokens(decoder, "input_ids", decoder->prompt_tokens);
    decoder->mask_input = declare_tokens(decoder, "attention_mask", decoder->prompt_tokens);
    decoder->token_input = declare_tokens(decoder, "decoder_input_ids", 1);
    declare_tokens(decoder, "labels", 1);
}

static void trace_prompt(cse_inference *inference, void *self)
{
    cse_pair_decoder *decoder = self;
    declare_pair(decoder, inference);
    trace_logits(decoder, &(cse_decoding){ .self = decoder, .attend = attend_prompt });
    decoder->wanted_cross = decoder->cross_count;
    if (decoder->cross_count == 0)
        cse_trace_fail(CSE_SHAPE, "model %s has no attention to an encoder's output",
                       decoder->model->descriptor->name);
}

static void trace_one(cse_inference *inference, void *self)
{
    cse_pair_decoder *decoder = self;
    declare_pair(decoder, inference);
    decoder->past_input = cse_trace_graph()->input_count;
    cse_tensor *past =
        cse_inference_input(inference, &(cse_stream){ "past", cse_scalar_shape, CSE_INT32 });
    cse_tensor *logits = trace_logits(decoder, &(cse_decoding){ .self = decoder,
                                                                .past = past,
                                                                .keys = decoder->max_tokens,
                                                                .attend = attend_one });
    decoder->logits_output = cse_inference_output(inference, "logits", logits);
    if (decoder->cross_count != decoder->wanted_cross)
        cse_trace_fail(CSE_SHAPE, "model %s has other attentions over one token than over a text",
                       decoder->model->descriptor->name);
}

cse_status cse_pair_decoder_new(cse_model *model, int64_t prompt_tokens, int64_t max_tokens,
                                cse_pair_decoder **result)
{
    *result = NULL;
    if (prompt_tokens < 2 || max_tokens < 1)
        return cse_fail(CSE_USAGE, "decoding: there is no place for a prompt and a text");
    cse_pair_decoder *decoder = cse_calloc(1, sizeof *decoder);
    decoder->model = model;
    decoder->prompt_tokens = prompt_tokens;
    decoder->max_tokens = max_tokens;
    decoder->source_vocabulary =
        setting(model, "src_vocab_size", INT32_MAX) + setting(model, "extra_ids", 0);
    decoder->start = cse_pair_start_token(model);
    cse_eval_mode(model);
    cse_inference_options options = { .batch = 1, .trace = trace_prompt, .self = decoder };
    cse_status status = cse_inference_new(&options, &decoder->prompt);
    options.trace = trace_one;
    if (status == CSE_OK)
        status = cse_inference_new(&options, &decoder->one);
    cse_train_mode(model);
    if (status != CSE_OK)
        cse_pair_decoder_destroy(&decoder);
    *result = decoder;
    return status;
}

void cse_pair_decoder_destroy(cse_pair_decoder **decoder)
{
    cse_pair_decoder *old = *decoder;
    *decoder = NULL;
    if (old == NULL)
        return;
    cse_inference_destroy(&old->prompt);
    cse_inference_destroy(&old->one);
    free(old);
}

int64_t cse_pair_decoder_vocabulary(const cse_pair_decoder *decoder)
{
    return decoder->vocabulary;
}

const float *cse_pair_decoder_logits(const cse_pair_decoder *decoder)
{
    return cse_inference_output_view(decoder->one, decoder->logits_output, NULL, NULL);
}

/* ---- a text ---- */

/* Rows of the token at `place` go from the outputs into the inputs. */
static void store_own(const cse_pair_decoder *decoder, int64_t place)
{
    for (int i = 0; i < 2 * decoder->own_count; i++) {
        const kept *k = &decoder->own[i / 2];
        const int64_t heads = k->shapes[i % 2].dims[1], channels = k->shapes[i % 2].dims[3];
        const float *row = cse_inference_output_view(decoder->one, k->outputs[i % 2], NULL, NULL);
        float *rows = cse_inference_input_memory(decoder->one, k->inputs[i % 2]);
        for (int64_t h = 0; h < heads; h++)
            memcpy(rows + (h * decoder->max_tokens + place) * channels, row + h * channels,
                   (size_t)channels * sizeof *rows);
    }
}

static void store_cross(const cse_pair_decoder *decoder)
{
    for (int i = 0; i < 2 * decoder->cross_count; i++) {
        const kept *k = &decoder->cross[i / 2];
        cse_shape shape;
        const float *rows =
            cse_inference_output_view(decoder->prompt, k->outputs[i % 2], &shape, NULL);
        memcpy(cse_inference_input_memory(decoder->one, k->inputs[i % 2]), rows,
               (size_t)cse_shape_elements(shape) * sizeof *rows);
    }
}

static cse_status run_one(cse_pair_decoder *decoder, int32_t token)
{
    *(int32_t *)cse_inference_input_memory(decoder->one, decoder->token_input) = token;
    *(int32_t *)cse_inference_input_memory(decoder->one, decoder->past_input) =
        (int32_t)decoder->count;
    CSE_TRY(cse_inference_run(decoder->one));
    store_own(decoder, decoder->count++);
    return CSE_OK;
}

cse_status cse_pair_decoder_begin(cse_pair_decoder *decoder, const int32_t *prompt, int64_t count)
{
    const int64_t most = decoder->prompt_tokens;
    if (count < 1 || count > most)
        return cse_fail(CSE_DATA, "the prompt has %lld tokens; accepted: 1 to %lld",
                        (long long)count, (long long)most);
    for (int64_t i = 0; i < count; i++)
        CSE_TRY(cse_check_token(prompt[i], decoder->source_vocabulary));
    int32_t *tokens = cse_inference_input_memory(decoder->prompt, 0);
    int32_t *masks[] = { cse_inference_input_memory(decoder->prompt, decoder->mask_input),
                         cse_inference_input_memory(decoder->one, decoder->mask_input) };
    for (int64_t i = 0; i < most; i++) {
        tokens[i] = i < count ? prompt[i] : 0;
        masks[0][i] = masks[1][i] = i < count;
    }
    CSE_TRY(cse_inference_run(decoder->prompt));
    store_cross(decoder);
    decoder->count = 0;
    return run_one(decoder, decoder->start);
}

cse_status cse_pair_decoder_append(cse_pair_decoder *decoder, int32_t token)
{
    CSE_TRY(cse_check_token(token, decoder->vocabulary));
    if (decoder->count == decoder->max_tokens)
        return cse_fail(CSE_USAGE, "decoding: the text has its %lld tokens",
                        (long long)decoder->max_tokens);
    return run_one(decoder, token);
}

/* ---- several texts in turn ---- */

int64_t cse_pair_decoder_count(const cse_pair_decoder *decoder)
{
    return decoder->count;
}

int64_t cse_pair_decoder_kept_floats(const cse_pair_decoder *decoder)
{
    int64_t floats = 0;
    for (int i = 0; i < 2 * decoder->own_count; i++) {
        const cse_shape shape = decoder->own[i / 2].shapes[i % 2];
        floats += shape.dims[1] * shape.dims[3];
    }
    return floats;
}

/* Between the rows of the text and a block of `count` rows of each head, in either direction. */
static void move_own(const cse_pair_decoder *decoder, float *block, int64_t count, bool saves)
{
    for (int i = 0; i < 2 * decoder->own_count; i++) {
        const kept *k = &decoder->own[i / 2];
        const int64_t heads = k->shapes[i % 2].dims[1], channels = k->shapes[i % 2].dims[3];
        float *rows = cse_inference_input_memory(decoder->one, k->inputs[i % 2]);
        for (int64_t h = 0; h < heads; h++, block += count * channels) {
            float *row = rows + h * decoder->max_tokens * channels;
            memcpy(saves ? block : row, saves ? row : block,
                   (size_t)(count * channels) * sizeof *rows);
        }
    }
}

void cse_pair_decoder_save(const cse_pair_decoder *decoder, float *block)
{
    move_own(decoder, block, decoder->count, true);
}

void cse_pair_decoder_restore(cse_pair_decoder *decoder, const float *block, int64_t count)
{
    move_own(decoder, (float *)(uintptr_t)block, count, false);
    decoder->count = count;
}
