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
#include "run/infer/early_rows.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/infer/page_list.h"
#include "run/session/session.h"

/* A token of each of so many sequences lies in one line of memory, whatever the pass. */
enum { MAX_ATTENTIONS = 1024, MOST_PASSES = 32, MOST_POOLED = 16 };

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

/* A compiled pass: over a prompt of `size` tokens, or over a token of each of `size` sequences. All
 * passes over tokens have the same inputs and outputs, and so have all over prompts. */
typedef struct pass {
    int64_t size;
    cse_inference *inference;
} pass;

typedef struct passes {
    pass list[MOST_PASSES];
    int count;
} passes;

struct cse_token_decoder {
    cse_model *model;
    int64_t most_prompt, max_tokens;
    int64_t longest;      /* that a sequence comes to have */
    int64_t sequences;    /* that go on together */
    int64_t *counts;      /* tokens of each sequence so far */
    passes whole, one;    /* over prompts, over tokens: that of all sequences first */
    cse_page_list places; /* of sequences */
    bool pooled;          /* sequences take their places */
    int64_t vocabulary;
    int whole_logits, one_logits; /* outputs */
    const float **logits;         /* of each sequence */
    float *first_logits;          /* [sequences, vocabulary], behind prompts */
    bool masked;                  /* an attention has a mask, which is of one sequence */
    bool paged;                   /* all attentions are in pages */
    kept_attention attentions[MAX_ATTENTIONS];
    int attention_count;
    /* Of the pass that is traced. */
    int64_t traced_size;
    int traced_attentions;
    cse_inference *traced;
    cse_tensor *table; /* of pages */
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

/* The keys and values of the pass, handed out: [batch, heads, time, channel], in the type that they
 * have without being handed out. */
static void keep(cse_token_decoder *decoder, int outputs[2], cse_tensor *k, cse_tensor *v)
{
    char name[32];
    cse_trace_enter_request(&(cse_precision_request){ .observes = true });
    snprintf(name, sizeof name, "keys.%d", decoder->traced_attentions);
    outputs[0] = cse_inference_output(decoder->traced, name, k);
    snprintf(name, sizeof name, "values.%d", decoder->traced_attentions);
    outputs[1] = cse_inference_output(decoder->traced, name, v);
    cse_trace_leave();
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

/* Pages of a sequence at most. */
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

/* Keys or values in pages; `words`: of a head. The pool is the same whatever the pass: each of its
 * sequences stands for a part of it. */
static cse_tensor *pool_of(cse_token_decoder *decoder, kept_attention *kept, int which,
                           int64_t words)
{
    char name[32];
    const int64_t heads = (which == 0 ? kept->key : kept->value).dims[0];
    const cse_stream stream = {
        name, cse_shape_of(decoder->places.total / decoder->traced_size, heads * words), CSE_INT32
    };
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
    kept->paged = decoder->paged = false;
    cse_graph *graph = cse_trace_graph();
    cse_tensor *past =
        cse_reshape(cse_trace_decoding()->past, cse_shape_of(decoder->traced_size, 1, 1, 1));
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

/* ---- passes ---- */

/* Logits [batch, time, vocabulary], one of which is 1; at the token `last` [1] of the time. Returns
 * the output. */
static int hand_out_logits(cse_token_decoder *decoder, cse_tensor *logits, cse_tensor *last)
{
    if (cse_trace_is_poison(logits))
        return -1;
    decoder->vocabulary = logits->shape.dims[2];
    logits = cse_reshape(
        logits, cse_shape_of(logits->shape.dims[0] * logits->shape.dims[1], decoder->vocabulary));
    if (last != NULL)
        logits = cse_rows_early(logits, last);
    return cse_inference_output(decoder->traced, "logits", logits);
}

static void trace_whole(cse_inference *inference, void *self)
{
    cse_token_decoder *decoder = self;
    const cse_stream tokens = { "tokens", cse_shape_of(decoder->traced_size), CSE_INT32 };
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
    decoder->whole_logits = hand_out_logits(decoder, logits, row);
    decoder->attention_count = decoder->traced_attentions;
}

/* Of a row of the table in a pass over so many sequences. Passes have tables of one size, so that
 * the inputs behind lie at the same places in all of them. */
static int64_t table_columns(const cse_token_decoder *decoder, int64_t size)
{
    return decoder->sequences / size * (1 + page_count(decoder));
}

static void trace_one(cse_inference *inference, void *self)
{
    cse_token_decoder *decoder = self;
    const int64_t columns = table_columns(decoder, decoder->traced_size);
    const cse_stream token = { "tokens", cse_shape_of(1), CSE_INT32 };
    const cse_stream past = { "past", cse_scalar_shape, CSE_INT32 };
    const cse_stream table = { "pages", cse_shape_of(columns), CSE_INT32 };
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
    decoder->one_logits = hand_out_logits(decoder, logits, NULL);
    if (decoder->traced_attentions != decoder->attention_count)
        cse_trace_fail(CSE_SHAPE, "model %s has %d attentions over one token, and %d over a prompt",
                       decoder->model->descriptor->name, decoder->traced_attentions,
                       decoder->attention_count);
}

/* Compiles a pass; what it has in common with others is in memory once. */
static cse_status add_pass(cse_token_decoder *decoder, passes *to, int64_t size)
{
    pass *added = &to->list[to->count];
    const bool is_whole = to == &decoder->whole;
    const cse_inference_options options = {
        .batch = is_whole ? 1 : size,
        .trace = is_whole ? trace_whole : trace_one,
        .self = decoder,
        .states_of = decoder->whole.count > 0 ? decoder->whole.list[0].inference : NULL,
        .inputs_of = !is_whole && to->count > 0 ? to->list[0].inference : NULL,
    };
    if (to->count == MOST_PASSES)
        return cse_fail(CSE_INTERNAL, "decoding: more than %d passes", MOST_PASSES);
    decoder->traced_size = added->size = size;
    cse_eval_mode(decoder->model);
    const cse_status status = cse_inference_new(&options, &added->inference);
    cse_train_mode(decoder->model);
    to->count += status == CSE_OK;
    return status;
}

static void clear_passes(passes *p)
{
    while (p->count > 0)
        cse_inference_destroy(&p->list[--p->count].inference);
}

/* The smallest pass over prompts that takes so many tokens; another one where that is far larger
 * than need be. */
static cse_status find_whole(cse_token_decoder *decoder, int64_t tokens, const pass **found)
{
    enum { FAR = 4 };
    const int64_t size = cse_compiled_length(tokens, decoder->most_prompt);
    *found = NULL;
    for (int i = 0; i < decoder->whole.count; i++) {
        const pass *p = &decoder->whole.list[i];
        if (p->size >= tokens && (*found == NULL || p->size < (*found)->size))
            *found = p;
    }
    if (*found != NULL && (!decoder->pooled || (*found)->size < FAR * size))
        return CSE_OK;
    CSE_TRY(add_pass(decoder, &decoder->whole, size));
    *found = &decoder->whole.list[decoder->whole.count - 1];
    return CSE_OK;
}

/* The pass over a token of each of `active` sequences, and rows that nobody needs: of 1, of a
 * multiple of 4 or of all sequences, which the pool is divided among. */
static cse_status find_one(cse_token_decoder *decoder, int64_t active, const pass **found)
{
    int64_t size = active;
    while (size < decoder->sequences && (decoder->sequences % size != 0 || (size > 1 && size % 4)))
        size++;
    *found = &decoder->one.list[0];
    if (!decoder->pooled || size == decoder->sequences)
        return CSE_OK;
    for (int i = 0; i < decoder->one.count; i++)
        if (decoder->one.list[i].size == size) {
            *found = &decoder->one.list[i];
            return CSE_OK;
        }
    CSE_TRY(add_pass(decoder, &decoder->one, size));
    *found = &decoder->one.list[decoder->one.count - 1];
    return CSE_OK;
}

/* ---- opening ---- */

static void open_places(cse_token_decoder *decoder, int64_t pool_tokens)
{
    const int64_t sequences = decoder->sequences, most = page_count(decoder);
    const int64_t asked = (pool_tokens + CSE_PAGE_TOKENS - 1) / CSE_PAGE_TOKENS;
    int64_t total = asked > most ? asked : most;
    total = (total + sequences - 1) / sequences * sequences;
    if (!decoder->pooled || total > sequences * most)
        total = sequences * most;
    cse_page_list_close(&decoder->places);
    cse_page_list_open(&decoder->places, sequences, most, total);
    for (int64_t s = 0; s < sequences && !decoder->pooled; s++)
        cse_page_list_take(&decoder->places, s, most);
}

static cse_status open_one(cse_token_decoder *decoder, int64_t pool_tokens)
{
    decoder->paged = true;
    open_places(decoder, pool_tokens);
    CSE_TRY(add_pass(decoder, &decoder->one, decoder->sequences));
    if (decoder->paged || !decoder->pooled)
        return CSE_OK;
    clear_passes(&decoder->one);
    decoder->sequences = 1;
    decoder->pooled = false;
    open_places(decoder, 0);
    return add_pass(decoder, &decoder->one, 1);
}

static void begin_empty(cse_token_decoder *decoder)
{
    const size_t sequences = (size_t)decoder->sequences;
    decoder->counts = cse_calloc(sequences, sizeof *decoder->counts);
    decoder->logits = cse_calloc(sequences, sizeof *decoder->logits);
    decoder->first_logits =
        cse_calloc(sequences * (size_t)decoder->vocabulary, sizeof *decoder->first_logits);
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
    decoder->most_prompt =
        sizes->most_prompt_tokens > prompt_tokens ? sizes->most_prompt_tokens : prompt_tokens;
    decoder->max_tokens = max_tokens;
    decoder->longest = sizes->longest;
    cse_status status = add_pass(decoder, &decoder->whole, prompt_tokens);
    decoder->sequences = sizes->sequences > 1 && !decoder->masked ? sizes->sequences : 1;
    decoder->pooled = sizes->pool_tokens > 0 && decoder->sequences > 1;
    if (decoder->pooled && decoder->sequences > MOST_POOLED)
        decoder->sequences = MOST_POOLED;
    if (status == CSE_OK)
        status = open_one(decoder, sizes->pool_tokens);
    if (status == CSE_OK)
        begin_empty(decoder);
    else
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
    clear_passes(&old->one);
    clear_passes(&old->whole);
    cse_page_list_close(&old->places);
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
    kept_row row = { cse_inference_input_memory(decoder->one.list[0].inference,
                                                kept->inputs[index % 2]),
                     size, place.token % CSE_PAGE_TOKENS, kept->paged, index % 2 == 0 };
    const int64_t head = place.sequence * heads + place.head;
    if (!kept->paged) {
        row.memory += (head * decoder->max_tokens + place.token) * size;
        return row;
    }
    const int64_t page =
        cse_page_at(&decoder->places, place.sequence, place.token / CSE_PAGE_TOKENS);
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
    bool of_whole; /* a pass over a prompt */
    int64_t row, sequence, first, count;
} kept_tokens;

static void store(const cse_token_decoder *decoder, const kept_tokens *t)
{
    for (int i = 0; i < 2 * decoder->attention_count; i++) {
        cse_shape shape;
        const kept_attention *kept = &decoder->attentions[i / 2];
        const int *outputs = t->of_whole ? kept->of_whole : kept->of_one;
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

bool cse_token_decoder_take(cse_token_decoder *decoder, int64_t sequence, int64_t tokens)
{
    return !decoder->pooled || cse_page_list_take(&decoder->places, sequence,
                                                  (tokens + CSE_PAGE_TOKENS - 1) / CSE_PAGE_TOKENS);
}

void cse_token_decoder_leave(cse_token_decoder *decoder, int64_t sequence)
{
    decoder->counts[sequence] = 0;
    if (decoder->pooled)
        cse_page_list_leave(&decoder->places, sequence);
}

/* Tokens that the sequence has place for. */
static int64_t place_of(const cse_token_decoder *decoder, int64_t sequence)
{
    const int64_t tokens = decoder->places.counts[sequence] * CSE_PAGE_TOKENS;
    return tokens < decoder->max_tokens ? tokens : decoder->max_tokens;
}

cse_status cse_token_decoder_begin_at(cse_token_decoder *decoder, int64_t sequence,
                                      const int32_t *prompt, int64_t count)
{
    const pass *whole;
    if (count < 1 || count > decoder->most_prompt)
        return cse_fail(CSE_DATA, "the prompt has %lld tokens; accepted: 1 to %lld",
                        (long long)count, (long long)decoder->most_prompt);
    if (count > place_of(decoder, sequence))
        return cse_fail(CSE_USAGE, "decoding: the sequence has place for %lld tokens, not %lld",
                        (long long)place_of(decoder, sequence), (long long)count);
    for (int64_t i = 0; i < count; i++)
        CSE_TRY(cse_check_token(prompt[i], decoder->vocabulary));
    CSE_TRY(find_whole(decoder, count, &whole));
    int32_t *tokens = cse_inference_input_memory(whole->inference, 0);
    memset(tokens, 0, (size_t)whole->size * sizeof *tokens);
    memcpy(tokens, prompt, (size_t)count * sizeof *tokens);
    *(int32_t *)cse_inference_input_memory(whole->inference, 1) = (int32_t)(count - 1);
    CSE_TRY(cse_inference_run(whole->inference));
    store(decoder, &(kept_tokens){ whole->inference, true, 0, sequence, 0, count });
    decoder->counts[sequence] = count;
    float *logits = decoder->first_logits + sequence * decoder->vocabulary;
    memcpy(logits, cse_inference_output_view(whole->inference, decoder->whole_logits, NULL, NULL),
           (size_t)decoder->vocabulary * sizeof *logits);
    decoder->logits[sequence] = logits;
    return CSE_OK;
}

cse_status cse_token_decoder_begin(cse_token_decoder *decoder, const int32_t *prompt, int64_t count)
{
    return cse_token_decoder_begin_at(decoder, 0, prompt, count);
}

static cse_status check_tokens(const cse_token_decoder *decoder, const int32_t tokens[],
                               int64_t *active)
{
    *active = 0;
    for (int64_t s = 0; s < decoder->sequences; s++) {
        if (tokens[s] == CSE_TOKEN_RESTS)
            continue;
        (*active)++;
        CSE_TRY(cse_check_token(tokens[s], decoder->vocabulary));
        if (decoder->counts[s] == place_of(decoder, s))
            return cse_fail(CSE_USAGE, "decoding: the sequence has its %lld tokens",
                            (long long)decoder->counts[s]);
    }
    return CSE_OK;
}

/* Row `row` of a pass is sequence `s`; -1: of nobody, computed as if it began with token 0. */
static void set_row(const cse_token_decoder *decoder, const pass *one, int64_t row, int64_t s,
                    const int32_t tokens[])
{
    const int64_t columns = table_columns(decoder, one->size);
    int32_t *token = cse_inference_input_memory(one->inference, INPUT_TOKEN);
    int32_t *past = cse_inference_input_memory(one->inference, INPUT_PAST);
    int32_t *table = cse_inference_input_memory(one->inference, INPUT_TABLE);
    table += row * columns;
    token[row] = s < 0 ? 0 : tokens[s];
    past[row] = table[0] = s < 0 ? 0 : (int32_t)decoder->counts[s];
    memset(table + 1, 0, (size_t)(columns - 1) * sizeof *table);
    for (int64_t p = 0; s >= 0 && p < decoder->places.counts[s]; p++)
        table[1 + p] = cse_page_at(&decoder->places, s, p);
}

/* Sequences in pages stand in any rows; others in those of their keys and values. Nothing is kept
 * of those that rest. */
cse_status cse_token_decoder_append_each(cse_token_decoder *decoder, const int32_t tokens[])
{
    int64_t active, row = 0;
    const pass *one;
    CSE_TRY(check_tokens(decoder, tokens, &active));
    if (active == 0)
        return CSE_OK;
    CSE_TRY(find_one(decoder, active, &one));
    for (int64_t s = 0; s < decoder->sequences; s++)
        if (tokens[s] != CSE_TOKEN_RESTS || !decoder->paged)
            set_row(decoder, one, row++, tokens[s] != CSE_TOKEN_RESTS ? s : -1, tokens);
    for (; row < one->size; row++)
        set_row(decoder, one, row, -1, tokens);
    CSE_TRY(cse_inference_run(one->inference));
    const float *logits =
        cse_inference_output_view(one->inference, decoder->one_logits, NULL, NULL);
    row = 0;
    for (int64_t s = 0; s < decoder->sequences; s++) {
        if (tokens[s] != CSE_TOKEN_RESTS) {
            store(decoder, &(kept_tokens){ one->inference, false, row, s, decoder->counts[s], 1 });
            decoder->counts[s]++;
            decoder->logits[s] = logits + row * decoder->vocabulary;
        }
        row += tokens[s] != CSE_TOKEN_RESTS || !decoder->paged;
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
