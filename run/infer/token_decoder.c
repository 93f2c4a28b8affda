/* Both passes are traced from the model's forward function. Its attentions are called in the same
 * order each time, which is how their keys and values are told apart. */
#include "run/infer/token_decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/session/session.h"

enum { MAX_ATTENTIONS = 1024 };

/* Keys and values of one attention. */
typedef struct kept_attention {
    cse_shape key, value;       /* of one token: [heads, channel] */
    int of_whole[2], of_one[2]; /* outputs of the two passes: keys, values */
    int inputs[2];              /* of the pass over one token */
} kept_attention;

struct cse_token_decoder {
    cse_model *model;
    int64_t prompt_tokens, max_tokens; /* of the compiled passes */
    int64_t longest;                   /* that a sequence comes to have */
    int64_t count;                     /* tokens of the sequence so far */
    cse_inference *whole, *one;
    int64_t vocabulary;
    int logits_output, whole_logits; /* of the pass traced last; of that over the prompt */
    const float *logits;
    kept_attention attentions[MAX_ATTENTIONS];
    int attention_count;
    int traced_attentions; /* in the pass that is traced */
    cse_inference *traced;
};

/* ---- attention ---- */

static cse_shape of_one_token(cse_shape shape)
{
    return cse_shape_of(shape.dims[1], shape.dims[3]);
}

/* Whether a mask is a bias of all keys that the pass sees, the same for all queries or one for
 * each. */
static bool fits_keys(const cse_token_decoder *decoder, const cse_tensor *q, const cse_tensor *mask)
{
    const cse_decoding *decoding = cse_trace_decoding();
    if (cse_trace_is_poison(q) || cse_trace_is_poison(mask))
        return true;
    const int64_t time = q->shape.dims[2];
    const int64_t keys = decoding->past != NULL ? decoder->max_tokens : time;
    const cse_shape shape = mask->shape;
    return mask->dtype == CSE_FLOAT32 && shape.rank == 3 && shape.dims[2] == keys &&
           (shape.dims[1] == 1 || shape.dims[1] == time);
}

/* NULL, or the poison of a failed trace. */
static cse_tensor *check_attention(const cse_token_decoder *decoder,
                                   const cse_tensor *const inputs[3],
                                   const cse_attention_options *options)
{
    if (!options->causal)
        return cse_trace_fail(CSE_USAGE,
                              "model %s sees the tokens after one, too: it is no language model "
                              "that goes from token to token",
                              decoder->model->descriptor->name);
    if ((options->mask != NULL && !fits_keys(decoder, inputs[0], options->mask)) ||
        options->key_lengths != NULL)
        return cse_trace_fail(CSE_SHAPE,
                              "model %s masks its attention by a tensor, which cannot be decoded "
                              "token by token",
                              decoder->model->descriptor->name);
    if (decoder->traced_attentions == MAX_ATTENTIONS)
        return cse_trace_fail(CSE_SHAPE, "decoding is limited to %d attentions", MAX_ATTENTIONS);
    for (int i = 0; i < 3; i++)
        if (cse_trace_is_poison(inputs[i]))
            return cse_trace_graph()->poison;
    return NULL;
}

/* The keys and values of the pass, handed out: [batch, heads, time, channel]. */
static void keep(cse_token_decoder *decoder, int outputs[2], cse_tensor *k, cse_tensor *v)
{
    char name[32];
    snprintf(name, sizeof name, "keys.%d", decoder->traced_attentions);
    outputs[0] = cse_inference_output(decoder->traced, name, k);
    snprintf(name, sizeof name, "values.%d", decoder->traced_attentions);
    outputs[1] = cse_inference_output(decoder->traced, name, v);
    decoder->traced_attentions++;
}

/* In the pass over the prompt, which is the plain one but for what it hands out. */
static cse_tensor *attend_whole(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                                const cse_attention_options *options)
{
    cse_token_decoder *decoder = self;
    cse_tensor *wrong = check_attention(decoder, (const cse_tensor *[]){ q, k, v }, options);
    if (wrong != NULL)
        return wrong;
    kept_attention *kept = &decoder->attentions[decoder->traced_attentions];
    kept->key = of_one_token(k->shape);
    kept->value = of_one_token(v->shape);
    keep(decoder, kept->of_whole, k, v);
    return cse_plain_attention(q, k, v, options);
}

/* Rows of tokens before this one from the cache, its own at its place, and zeros after it. */
static cse_tensor *with_cache(cse_token_decoder *decoder, const char *name, cse_tensor *row,
                              cse_tensor *is_here)
{
    const cse_shape shape = row->shape;
    const cse_stream stream = { name,
                                cse_shape_of(shape.dims[1], decoder->max_tokens, shape.dims[3]),
                                CSE_FLOAT32 };
    cse_tensor *cache = cse_cast(cse_inference_input(decoder->traced, &stream), row->dtype);
    return cse_where(is_here, row, cache);
}

/* In the pass over one token. The mask hides the places that have no token yet. */
static cse_tensor *attend_one(void *self, cse_tensor *q, cse_tensor *k, cse_tensor *v,
                              const cse_attention_options *options)
{
    char name[32];
    cse_token_decoder *decoder = self;
    cse_tensor *wrong = check_attention(decoder, (const cse_tensor *[]){ q, k, v }, options);
    if (wrong != NULL)
        return wrong;
    kept_attention *kept = &decoder->attentions[decoder->traced_attentions];
    if (decoder->traced_attentions >= decoder->attention_count ||
        !cse_shape_equal(kept->key, of_one_token(k->shape)) ||
        !cse_shape_equal(kept->value, of_one_token(v->shape)))
        return cse_trace_fail(CSE_SHAPE,
                              "the attentions of model %s depend on the length of the sequence, so "
                              "that it cannot be decoded token by token",
                              decoder->model->descriptor->name);
    cse_graph *graph = cse_trace_graph();
    cse_tensor *past = cse_reshape(cse_trace_decoding()->past, cse_shape_of(1, 1, 1, 1));
    cse_tensor *places = cse_iota(decoder->max_tokens, 0, 1);
    cse_tensor *is_here =
        cse_equal(cse_reshape(places, cse_shape_of(1, 1, decoder->max_tokens, 1)), past);
    places = cse_reshape(places, cse_shape_of(1, 1, 1, decoder->max_tokens));
    cse_tensor *is_seen = cse_less_equal(places, past);
    if (options->window > 0) {
        cse_tensor *first = cse_sub(past, cse_iota(1, (int32_t)options->window - 1, 1));
        cse_tensor *is_near = cse_less_equal(first, places);
        if (options->sink > 0)
            is_near =
                cse_logical_or(is_near, cse_less(places, cse_iota(1, (int32_t)options->sink, 1)));
        is_seen = cse_logical_and(is_seen, is_near);
    }
    kept->inputs[0] = graph->input_count;
    snprintf(name, sizeof name, "keys.%d", decoder->traced_attentions);
    cse_tensor *keys = with_cache(decoder, name, k, is_here);
    kept->inputs[1] = graph->input_count;
    snprintf(name, sizeof name, "values.%d", decoder->traced_attentions);
    cse_tensor *values = with_cache(decoder, name, v, is_here);
    keep(decoder, kept->of_one, k, v);
    if (options->mask != NULL)
        is_seen = cse_where(is_seen, options->mask, cse_constant(-1e30));
    const cse_attention_options masked = { .scale = options->scale,
                                           .mask = is_seen,
                                           .cap = options->cap };
    return cse_plain_attention(q, keys, values, &masked);
}

/* ---- the two passes ---- */

/* Logits [1, time, vocabulary] at the token `last` [1]. */
static void hand_out_logits(cse_token_decoder *decoder, cse_tensor *logits, cse_tensor *last)
{
    if (cse_trace_is_poison(logits))
        return;
    decoder->vocabulary = logits->shape.dims[2];
    logits = cse_reshape(logits, cse_shape_of(logits->shape.dims[1], decoder->vocabulary));
    if (last != NULL)
        logits = cse_gather(logits, last);
    decoder->logits_output = cse_inference_output(decoder->traced, "logits", logits);
}

static void trace_whole(cse_inference *inference, void *self)
{
    cse_token_decoder *decoder = self;
    const cse_stream tokens = { "tokens", cse_shape_of(decoder->prompt_tokens), CSE_INT32 };
    const cse_stream last = { "last", cse_scalar_shape, CSE_INT32 };
    const cse_decoding decoding = { .self = decoder,
                                    .longest = decoder->longest,
                                    .attend = attend_whole };
    decoder->traced = inference;
    decoder->traced_attentions = 0;
    cse_tensor *input = cse_inference_input(inference, &tokens);
    cse_tensor *row = cse_inference_input(inference, &last);
    cse_trace_graph()->decoding = &decoding;
    cse_tensor *logits = cse_language_logits(decoder->model, input);
    cse_trace_graph()->decoding = NULL;
    hand_out_logits(decoder, logits, row);
    decoder->attention_count = decoder->traced_attentions;
    decoder->whole_logits = decoder->logits_output;
}

static void trace_one(cse_inference *inference, void *self)
{
    cse_token_decoder *decoder = self;
    const cse_stream token = { "tokens", cse_shape_of(1), CSE_INT32 };
    const cse_stream past = { "past", cse_scalar_shape, CSE_INT32 };
    decoder->traced = inference;
    decoder->traced_attentions = 0;
    cse_tensor *input = cse_inference_input(inference, &token);
    const cse_decoding decoding = { .self = decoder,
                                    .past = cse_inference_input(inference, &past),
                                    .keys = decoder->max_tokens,
                                    .longest = decoder->longest,
                                    .attend = attend_one };
    cse_trace_graph()->decoding = &decoding;
    cse_tensor *logits = cse_language_logits(decoder->model, input);
    cse_trace_graph()->decoding = NULL;
    hand_out_logits(decoder, logits, NULL);
    if (decoder->traced_attentions != decoder->attention_count)
        cse_trace_fail(CSE_SHAPE, "model %s has %d attentions over one token, and %d over a prompt",
                       decoder->model->descriptor->name, decoder->traced_attentions,
                       decoder->attention_count);
}

cse_status cse_token_decoder_new(cse_model *model, const cse_token_decoder_sizes *sizes,
                                 cse_token_decoder **result)
{
    const int64_t prompt_tokens = sizes->prompt_tokens, max_tokens = sizes->max_tokens;
    *result = NULL;
    if (prompt_tokens < 1 || max_tokens < prompt_tokens)
        return cse_fail(CSE_USAGE, "decoding: %lld tokens cannot follow a prompt of %lld",
                        (long long)(max_tokens - prompt_tokens), (long long)prompt_tokens);
    cse_token_decoder *decoder = cse_calloc(1, sizeof *decoder);
    decoder->model = model;
    decoder->prompt_tokens = prompt_tokens;
    decoder->max_tokens = max_tokens;
    decoder->longest = sizes->longest;
    cse_eval_mode(model);
    cse_inference_options options = { .batch = 1, .trace = trace_whole, .self = decoder };
    cse_status status = cse_inference_new(&options, &decoder->whole);
    options.trace = trace_one;
    if (status == CSE_OK)
        status = cse_inference_new(&options, &decoder->one);
    cse_train_mode(model);
    if (status != CSE_OK)
        cse_token_decoder_destroy(&decoder);
    *result = decoder;
    return status;
}

void cse_token_decoder_destroy(cse_token_decoder **decoder)
{
    cse_token_decoder *old = *decoder;
    *decoder = NULL;
    if (old == NULL)
        return;
    cse_inference_destroy(&old->whole);
    cse_inference_destroy(&old->one);
    free(old);
}

int64_t cse_token_decoder_vocabulary(const cse_token_decoder *decoder)
{
    return decoder->vocabulary;
}

const float *cse_token_decoder_logits(const cse_token_decoder *decoder)
{
    return decoder->logits;
}

/* ---- a sequence ---- */

/* Places of a sequence. */
typedef struct place_range {
    int64_t first, count;
} place_range;

/* Rows from an output [heads, time, channel], whose first token is that at `places.first`, into a
 * cache [heads, max_tokens, channel]. */
static void store_rows(const cse_token_decoder *decoder, const float *rows, cse_shape shape,
                       place_range places, float *cache)
{
    const int64_t heads = shape.dims[1], time = shape.dims[2], channels = shape.dims[3];
    for (int64_t h = 0; h < heads; h++)
        memcpy(cache + (h * decoder->max_tokens + places.first) * channels,
               rows + h * time * channels, (size_t)(places.count * channels) * sizeof *cache);
}

static void store(const cse_token_decoder *decoder, const cse_inference *from, place_range places)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        cse_shape shape;
        const kept_attention *kept = &decoder->attentions[i / 2];
        const int *outputs = from == decoder->whole ? kept->of_whole : kept->of_one;
        const float *rows = cse_inference_output_view(from, outputs[i % 2], &shape, NULL);
        store_rows(decoder, rows, shape, places,
                   cse_inference_input_memory(decoder->one, kept->inputs[i % 2]));
    }
}

cse_status cse_token_decoder_begin(cse_token_decoder *decoder, const int32_t *prompt, int64_t count)
{
    if (count < 1 || count > decoder->prompt_tokens)
        return cse_fail(CSE_DATA, "the prompt has %lld tokens; accepted: 1 to %lld",
                        (long long)count, (long long)decoder->prompt_tokens);
    for (int64_t i = 0; i < count; i++)
        CSE_TRY(cse_check_token(prompt[i], decoder->vocabulary));
    int32_t *tokens = cse_inference_input_memory(decoder->whole, 0);
    memset(tokens, 0, (size_t)decoder->prompt_tokens * sizeof *tokens);
    memcpy(tokens, prompt, (size_t)count * sizeof *tokens);
    *(int32_t *)cse_inference_input_memory(decoder->whole, 1) = (int32_t)(count - 1);
    CSE_TRY(cse_inference_run(decoder->whole));
    store(decoder, decoder->whole, (place_range){ 0, count });
    decoder->count = count;
    decoder->logits = cse_inference_output_view(decoder->whole, decoder->whole_logits, NULL, NULL);
    return CSE_OK;
}

cse_status cse_token_decoder_append(cse_token_decoder *decoder, int32_t token)
{
    CSE_TRY(cse_check_token(token, decoder->vocabulary));
    if (decoder->count == decoder->max_tokens)
        return cse_fail(CSE_USAGE, "decoding: the sequence has its %lld tokens",
                        (long long)decoder->max_tokens);
    *(int32_t *)cse_inference_input_memory(decoder->one, 0) = token;
    *(int32_t *)cse_inference_input_memory(decoder->one, 1) = (int32_t)decoder->count;
    CSE_TRY(cse_inference_run(decoder->one));
    store(decoder, decoder->one, (place_range){ decoder->count, 1 });
    decoder->count++;
    decoder->logits = cse_inference_output_view(decoder->one, decoder->logits_output, NULL, NULL);
    return CSE_OK;
}

/* ---- several sequences in turn ---- */

int64_t cse_token_decoder_count(const cse_token_decoder *decoder)
{
    return decoder->count;
}

static cse_shape kept_shape(const cse_token_decoder *decoder, int index)
{
    const kept_attention *kept = &decoder->attentions[index / 2];
    return index % 2 == 0 ? kept->key : kept->value;
}

int64_t cse_token_decoder_kept_floats(const cse_token_decoder *decoder)
{
    int64_t floats = 0;
    for (int i = 0; i < 2 * decoder->attention_count; i++)
        floats += cse_shape_elements(kept_shape(decoder, i));
    return floats;
}

/* The rows of head `h` in the cache of keys or values `index`. */
static float *rows_of(const cse_token_decoder *decoder, int index, int64_t h)
{
    const kept_attention *kept = &decoder->attentions[index / 2];
    float *cache = cse_inference_input_memory(decoder->one, kept->inputs[index % 2]);
    return cache + h * decoder->max_tokens * kept_shape(decoder, index).dims[1];
}

void cse_token_decoder_save(const cse_token_decoder *decoder, float *kept)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        const cse_shape shape = kept_shape(decoder, i);
        const int64_t floats = decoder->count * shape.dims[1];
        for (int64_t h = 0; h < shape.dims[0]; h++, kept += floats)
            memcpy(kept, rows_of(decoder, i, h), (size_t)floats * sizeof *kept);
    }
}

void cse_token_decoder_restore(cse_token_decoder *decoder, const float *kept, int64_t count)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        const cse_shape shape = kept_shape(decoder, i);
        const int64_t floats = count * shape.dims[1];
        for (int64_t h = 0; h < shape.dims[0]; h++, kept += floats)
            memcpy(rows_of(decoder, i, h), kept, (size_t)floats * sizeof *kept);
    }
    decoder->count = count;
}

void cse_token_decoder_cut(cse_token_decoder *decoder, int64_t count)
{
    if (count < decoder->count)
        decoder->count = count;
}
