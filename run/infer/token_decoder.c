/* Both passes are traced from the model's forward function. Its attentions are called in the same
 * order each time, which is how their keys and values are told apart. */
#include "run/infer/token_decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/types/shape.h"
#include "engine/graph/ops/attention.h"
#include "engine/graph/ops/decoding.h"
#include "engine/graph/trace/trace.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/session/session.h"

enum { MAX_ATTENTIONS = 1024 };

/* Keys and values of one attention. They are kept in pages (attention_pages.h) where one kernel
 * reads them there, else as rows [heads, max_tokens, channel]. */
typedef struct kept_attention {
    cse_shape key, value;       /* of one token: [heads, channel] */
    int of_whole[2], of_one[2]; /* outputs of the two passes: keys, values */
    int inputs[2];              /* of the pass over one token */
    bool paged;
} kept_attention;

/* Inputs of the pass over one token. */
enum { INPUT_TOKEN, INPUT_PAST, INPUT_TABLE };

struct cse_token_decoder {
    cse_model *model;
    int64_t prompt_tokens, max_tokens; /* of the compiled passes */
    int64_t longest;                   /* that a sequence comes to have */
    int64_t sequences;                 /* that go on together */
    int64_t *counts;                   /* tokens of each sequence so far */
    cse_inference *whole, *one;
    int64_t vocabulary;
    int logits_output, whole_logits; /* of the pass traced last; of that over the prompt */
    const float **logits;            /* of each sequence */
    float *first_logits;             /* [sequences, vocabulary], behind prompts */
    bool masked;                     /* an attention has a mask, which is of one sequence */
    kept_attention attentions[MAX_ATTENTIONS];
    int attention_count;
    int traced_attentions; /* in the pass that is traced */
    cse_inference *traced;
    cse_tensor *table; /* of pages, in the pass that is traced */
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
        options->key_lengths != NULL || options->spans != NULL)
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
    decoder->masked = decoder->masked || options->mask != NULL;
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

static int64_t page_count(const cse_token_decoder *decoder)
{
    return (decoder->max_tokens + CSE_PAGE_TOKENS - 1) / CSE_PAGE_TOKENS;
}

/* Whether nothing but the causal mask hides keys from the token. */
static bool is_plain(const cse_token_decoder *decoder, const cse_attention_options *options)
{
    return options->mask == NULL && options->cap == 0 &&
           (options->window == 0 || options->window >= decoder->max_tokens);
}

/* Keys or values in pages; `words`: of a head. */
static cse_tensor *pool_of(cse_token_decoder *decoder, kept_attention *kept, int which,
                           int64_t words)
{
    char name[32];
    const int64_t heads = (which == 0 ? kept->key : kept->value).dims[0];
    const cse_stream stream = { name, cse_shape_of(page_count(decoder), heads * words), CSE_INT32 };
    snprintf(name, sizeof name, "%s.%d", which == 0 ? "keys" : "values",
             decoder->traced_attentions);
    kept->inputs[which] = cse_trace_graph()->input_count;
    return cse_inference_input(decoder->traced, &stream);
}

static cse_tensor *attend_pages(cse_token_decoder *decoder, cse_tensor *const rows[3],
                                const cse_attention_options *options)
{
    kept_attention *kept = &decoder->attentions[decoder->traced_attentions];
    const int64_t head = kept->key.dims[1], value = kept->value.dims[1];
    kept->paged = true;
    cse_tensor *keys = pool_of(decoder, kept, 0, cse_page_key_words(head));
    cse_tensor *values = pool_of(decoder, kept, 1, cse_page_value_words(value));
    cse_tensor *const inputs[CSE_PAGED_INPUTS] = { rows[0], rows[1], rows[2],
                                                   keys,    values,  decoder->table };
    keep(decoder, kept->of_one, rows[1], rows[2]);
    return cse_paged_attention(inputs,
                               options->scale > 0 ? options->scale : 1 / sqrt((double)head));
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
    if (is_plain(decoder, options))
        return attend_pages(decoder, (cse_tensor *const[]){ q, k, v }, options);
    kept->paged = false;
    cse_graph *graph = cse_trace_graph();
    cse_tensor *past =
        cse_reshape(cse_trace_decoding()->past, cse_shape_of(decoder->sequences, 1, 1, 1));
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

/* Logits [batch, time, vocabulary], one of which is 1; at the token `last` [1] of the time. */
static void hand_out_logits(cse_token_decoder *decoder, cse_tensor *logits, cse_tensor *last)
{
    if (cse_trace_is_poison(logits))
        return;
    decoder->vocabulary = logits->shape.dims[2];
    logits = cse_reshape(
        logits, cse_shape_of(logits->shape.dims[0] * logits->shape.dims[1], decoder->vocabulary));
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
    const cse_stream table = { "pages", cse_shape_of(1 + page_count(decoder)), CSE_INT32 };
    decoder->traced = inference;
    decoder->traced_attentions = 0;
    cse_tensor *input = cse_inference_input(inference, &token);
    const cse_decoding decoding = { .self = decoder,
                                    .past = cse_inference_input(inference, &past),
                                    .keys = decoder->max_tokens,
                                    .longest = decoder->longest,
                                    .attend = attend_one };
    decoder->table = cse_inference_input(inference, &table);
    cse_trace_graph()->decoding = &decoding;
    cse_tensor *logits = cse_language_logits(decoder->model, input);
    cse_trace_graph()->decoding = NULL;
    hand_out_logits(decoder, logits, NULL);
    if (decoder->traced_attentions != decoder->attention_count)
        cse_trace_fail(CSE_SHAPE, "model %s has %d attentions over one token, and %d over a prompt",
                       decoder->model->descriptor->name, decoder->traced_attentions,
                       decoder->attention_count);
}

/* Each sequence has pages of its own. */
static void begin_empty(cse_token_decoder *decoder)
{
    const int64_t sequences = decoder->sequences, pages = page_count(decoder);
    int32_t *table = cse_inference_input_memory(decoder->one, INPUT_TABLE);
    for (int64_t s = 0; s < sequences; s++)
        for (int64_t p = 0; p < pages; p++)
            table[s * (1 + pages) + 1 + p] = (int32_t)(s * pages + p);
    decoder->counts = cse_calloc((size_t)sequences, sizeof *decoder->counts);
    decoder->logits = cse_calloc((size_t)sequences, sizeof *decoder->logits);
    decoder->first_logits =
        cse_calloc((size_t)(sequences * decoder->vocabulary), sizeof *decoder->first_logits);
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
    decoder->sequences = sizes->sequences > 1 && !decoder->masked ? sizes->sequences : 1;
    options.batch = decoder->sequences;
    options.trace = trace_one;
    if (status == CSE_OK)
        status = cse_inference_new(&options, &decoder->one);
    if (status == CSE_OK)
        begin_empty(decoder);
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
    free(old->counts);
    free(old->logits);
    free(old->first_logits);
    free(old);
}

int64_t cse_token_decoder_vocabulary(const cse_token_decoder *decoder)
{
    return decoder->vocabulary;
}

const float *cse_token_decoder_logits(const cse_token_decoder *decoder)
{
    return decoder->logits[0];
}

const float *cse_token_decoder_logits_of(const cse_token_decoder *decoder, int64_t sequence)
{
    return decoder->logits[sequence];
}

int64_t cse_token_decoder_sequences(const cse_token_decoder *decoder)
{
    return decoder->sequences;
}

/* ---- what is kept ---- */

static cse_shape kept_shape(const cse_token_decoder *decoder, int index)
{
    const kept_attention *kept = &decoder->attentions[index / 2];
    return index % 2 == 0 ? kept->key : kept->value;
}

/* A head of a token of a sequence. */
typedef struct token_place {
    int64_t sequence, head, token;
} token_place;

/* Where a row of keys or values lies. */
typedef struct kept_row {
    float *memory; /* the row, or the head of its page */
    int64_t size, token;
    bool paged, is_key;
} kept_row;

/* That of the keys or values `index`. */
static kept_row row_at(const cse_token_decoder *decoder, int index, token_place place)
{
    const kept_attention *kept = &decoder->attentions[index / 2];
    const int64_t heads = kept_shape(decoder, index).dims[0];
    const int64_t size = kept_shape(decoder, index).dims[1];
    kept_row row = { cse_inference_input_memory(decoder->one, kept->inputs[index % 2]), size,
                     place.token % CSE_PAGE_TOKENS, kept->paged, index % 2 == 0 };
    const int64_t head = place.sequence * heads + place.head;
    if (!kept->paged) {
        row.memory += (head * decoder->max_tokens + place.token) * size;
        return row;
    }
    const int32_t *table = cse_inference_input_memory(decoder->one, INPUT_TABLE);
    const int64_t page =
        table[place.sequence * (1 + page_count(decoder)) + 1 + place.token / CSE_PAGE_TOKENS];
    row.memory += (page * heads + place.head) *
                  (row.is_key ? cse_page_key_words(size) : cse_page_value_words(size));
    return row;
}

static float *element_of(const kept_row *row, int64_t c)
{
    if (!row->paged)
        return row->memory + c;
    return row->memory + (row->is_key ? cse_page_key_at(row->token, c)
                                      : cse_page_value_at(row->size, row->token, c));
}

static void put_row(const cse_token_decoder *decoder, int index, token_place place,
                    const float *from)
{
    const kept_row row = row_at(decoder, index, place);
    for (int64_t c = 0; c < row.size; c++)
        *element_of(&row, c) = from[c];
}

static void get_row(const cse_token_decoder *decoder, int index, token_place place, float *to)
{
    const kept_row row = row_at(decoder, index, place);
    for (int64_t c = 0; c < row.size; c++)
        to[c] = *element_of(&row, c);
}

/* ---- a sequence ---- */

/* Tokens [first, first + count) of a sequence from outputs [rows, heads, time, channel] of a pass,
 * whose row `row` is the sequence's and begins with the first of these tokens. */
typedef struct kept_tokens {
    const cse_inference *from;
    int64_t row, sequence, first, count;
} kept_tokens;

static void store(const cse_token_decoder *decoder, const kept_tokens *t)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        cse_shape shape;
        const kept_attention *kept = &decoder->attentions[i / 2];
        const int *outputs = t->from == decoder->whole ? kept->of_whole : kept->of_one;
        const float *all = cse_inference_output_view(t->from, outputs[i % 2], &shape, NULL);
        const int64_t heads = shape.dims[1], time = shape.dims[2], size = shape.dims[3];
        for (int64_t h = 0; h < heads; h++)
            for (int64_t n = 0; n < t->count; n++)
                put_row(decoder, i, (token_place){ t->sequence, h, t->first + n },
                        all + ((t->row * heads + h) * time + n) * size);
    }
}

static int64_t largest_row(const cse_token_decoder *decoder)
{
    int64_t largest = 1;
    for (int i = 0; i < 2 * decoder->attention_count; i++)
        if (kept_shape(decoder, i).dims[1] > largest)
            largest = kept_shape(decoder, i).dims[1];
    return largest;
}

cse_status cse_token_decoder_begin_at(cse_token_decoder *decoder, int64_t sequence,
                                      const int32_t *prompt, int64_t count)
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
    store(decoder, &(kept_tokens){ decoder->whole, 0, sequence, 0, count });
    decoder->counts[sequence] = count;
    float *logits = decoder->first_logits + sequence * decoder->vocabulary;
    memcpy(logits, cse_inference_output_view(decoder->whole, decoder->whole_logits, NULL, NULL),
           (size_t)decoder->vocabulary * sizeof *logits);
    decoder->logits[sequence] = logits;
    return CSE_OK;
}

cse_status cse_token_decoder_begin(cse_token_decoder *decoder, const int32_t *prompt, int64_t count)
{
    return cse_token_decoder_begin_at(decoder, 0, prompt, count);
}

/* Sequences that rest are computed as if they began with token 0, and nothing of it is kept. */
cse_status cse_token_decoder_append_each(cse_token_decoder *decoder, const int32_t tokens[])
{
    int32_t *token = cse_inference_input_memory(decoder->one, INPUT_TOKEN);
    int32_t *past = cse_inference_input_memory(decoder->one, INPUT_PAST);
    int32_t *table = cse_inference_input_memory(decoder->one, INPUT_TABLE);
    for (int64_t s = 0; s < decoder->sequences; s++) {
        if (tokens[s] == CSE_TOKEN_RESTS)
            continue;
        CSE_TRY(cse_check_token(tokens[s], decoder->vocabulary));
        if (decoder->counts[s] == decoder->max_tokens)
            return cse_fail(CSE_USAGE, "decoding: the sequence has its %lld tokens",
                            (long long)decoder->max_tokens);
    }
    for (int64_t s = 0; s < decoder->sequences; s++) {
        const bool rests = tokens[s] == CSE_TOKEN_RESTS;
        token[s] = rests ? 0 : tokens[s];
        past[s] = table[s * (1 + page_count(decoder))] = rests ? 0 : (int32_t)decoder->counts[s];
    }
    CSE_TRY(cse_inference_run(decoder->one));
    const float *logits =
        cse_inference_output_view(decoder->one, decoder->logits_output, NULL, NULL);
    for (int64_t s = 0; s < decoder->sequences; s++) {
        if (tokens[s] == CSE_TOKEN_RESTS)
            continue;
        store(decoder, &(kept_tokens){ decoder->one, s, s, decoder->counts[s], 1 });
        decoder->counts[s]++;
        decoder->logits[s] = logits + s * decoder->vocabulary;
    }
    return CSE_OK;
}

cse_status cse_token_decoder_append(cse_token_decoder *decoder, int32_t token)
{
    CSE_TRY(cse_check_token(token, decoder->vocabulary));
    int32_t *tokens = cse_calloc((size_t)decoder->sequences, sizeof *tokens);
    for (int64_t s = 0; s < decoder->sequences; s++)
        tokens[s] = s == 0 ? token : CSE_TOKEN_RESTS;
    const cse_status status = cse_token_decoder_append_each(decoder, tokens);
    free(tokens);
    return status;
}

void cse_token_decoder_copy(cse_token_decoder *decoder, int64_t from, int64_t to)
{
    float *row = cse_calloc((size_t)largest_row(decoder), sizeof *row);
    for (int i = 0; i < 2 * decoder->attention_count; i++)
        for (int64_t h = 0; h < kept_shape(decoder, i).dims[0]; h++)
            for (int64_t t = 0; t < decoder->counts[from]; t++) {
                get_row(decoder, i, (token_place){ from, h, t }, row);
                put_row(decoder, i, (token_place){ to, h, t }, row);
            }
    free(row);
    decoder->counts[to] = decoder->counts[from];
    float *logits = decoder->first_logits + to * decoder->vocabulary;
    memcpy(logits, decoder->logits[from], (size_t)decoder->vocabulary * sizeof *logits);
    decoder->logits[to] = logits;
}

/* ---- several sequences in turn ---- */

int64_t cse_token_decoder_count(const cse_token_decoder *decoder)
{
    return decoder->counts[0];
}

int64_t cse_token_decoder_kept_floats(const cse_token_decoder *decoder)
{
    int64_t floats = 0;
    for (int i = 0; i < 2 * decoder->attention_count; i++)
        floats += cse_shape_elements(kept_shape(decoder, i));
    return floats;
}

void cse_token_decoder_save(const cse_token_decoder *decoder, float *kept)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        const cse_shape shape = kept_shape(decoder, i);
        for (int64_t h = 0; h < shape.dims[0]; h++)
            for (int64_t t = 0; t < decoder->counts[0]; t++, kept += shape.dims[1])
                get_row(decoder, i, (token_place){ 0, h, t }, kept);
    }
}

void cse_token_decoder_restore(cse_token_decoder *decoder, const float *kept, int64_t count)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        const cse_shape shape = kept_shape(decoder, i);
        for (int64_t h = 0; h < shape.dims[0]; h++)
            for (int64_t t = 0; t < count; t++, kept += shape.dims[1])
                put_row(decoder, i, (token_place){ 0, h, t }, kept);
    }
    decoder->counts[0] = count;
}

void cse_token_decoder_cut(cse_token_decoder *decoder, int64_t count)
{
    if (count < decoder->counts[0])
        decoder->counts[0] = count;
}
