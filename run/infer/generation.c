/* Goes from token to token. */
#include "run/infer/generation.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/stop_words.h"
#include "run/infer/token_decoder.h"

enum { FEW_TOKENS = 64 };

struct cse_generation {
    cse_generation_options options;
    cse_text_decoder *decoder;
    float *logits;   /* [vocabulary], changed by rules */
    int32_t *tokens; /* that the decoder has kept, and room for one more */
    int64_t count, capacity;
};

cse_status cse_generation_new(const cse_generation_options *options, cse_generation **result)
{
    const cse_text_decoder_options sizes = { .model = options->model,
                                             .longest_prompt = options->longest_prompt,
                                             .max_new_tokens = options->max_new_tokens,
                                             .ends_when_full = options->ends_when_full,
                                             .sequences = options->together };
    cse_generation *generation = cse_calloc(1, sizeof *generation);
    generation->options = *options;
    cse_status status = cse_text_decoder_new(&sizes, &generation->decoder);
    if (status == CSE_OK)
        generation->logits = cse_calloc((size_t)cse_text_decoder_vocabulary(generation->decoder),
                                        sizeof *generation->logits);
    else
        cse_generation_destroy(&generation);
    *result = generation;
    return status;
}

void cse_generation_destroy(cse_generation **generation)
{
    cse_generation *old = *generation;
    *generation = NULL;
    if (old == NULL)
        return;
    cse_text_decoder_destroy(&old->decoder);
    free(old->logits);
    free(old->tokens);
    free(old);
}

/* ---- the prompt ---- */

static void remember(cse_generation *generation, const int32_t *tokens, int64_t count)
{
    if (generation->count + count > generation->capacity) {
        generation->capacity = 2 * (generation->count + count);
        generation->tokens = cse_realloc(generation->tokens,
                                         (size_t)generation->capacity * sizeof *generation->tokens);
    }
    memcpy(generation->tokens + generation->count, tokens, (size_t)count * sizeof *tokens);
    generation->count += count;
}

static cse_status append(cse_generation *generation, int32_t token)
{
    CSE_TRY(cse_text_decoder_append(generation->decoder, token));
    remember(generation, &token, 1);
    return CSE_OK;
}

int64_t cse_generation_reusable(const cse_generation *generation, const int32_t *prompt,
                                int64_t count)
{
    int64_t same = 0;
    if (cse_text_decoder_start(generation->decoder) >= 0)
        return 0;
    while (same < generation->count && same < count - 1 && /* the last one's logits are wanted */
           generation->tokens[same] == prompt[same])
        same++;
    return 2 * same >= count || (same > 0 && count - same <= FEW_TOKENS) ? same : 0;
}

static cse_status begin(cse_generation *generation, const cse_generation_request *request,
                        cse_generation_result *result)
{
    const int64_t same =
        request->goes_on ? cse_generation_reusable(generation, request->prompt, request->count) : 0;
    cse_status status = CSE_OK;
    result->reused = same;
    if (same > 0) {
        cse_text_decoder_cut(generation->decoder, same);
        generation->count = same;
        for (int64_t i = same; i < request->count && status == CSE_OK; i++)
            status = append(generation, request->prompt[i]);
        return status;
    }
    generation->count = 0;
    CSE_TRY(cse_text_decoder_begin(generation->decoder, request->prompt, request->count));
    remember(generation, request->prompt, request->count);
    return CSE_OK;
}

/* ---- the text ---- */

/* Of one text under way. */
typedef struct writing {
    const cse_generation_request *request;
    cse_sampler *sampler;
    cse_stop_words stop;
    int64_t sequence; /* of the decoder */
    int32_t start;    /* that begins a text of its own; -1 */
    int32_t *text;    /* [max_new_tokens] */
    int64_t count, most;
    cse_text bytes, shown;
} writing;

static bool is_end(const cse_generation_settings *settings, int32_t token)
{
    for (int64_t i = 0; i < settings->end_count; i++)
        if (settings->ends[i] == token)
            return true;
    return false;
}

static int32_t choose(cse_generation *generation, writing *w)
{
    const cse_generation_request *r = w->request;
    const float *logits = cse_text_decoder_logits_of(generation->decoder, w->sequence);
    const int64_t vocabulary = cse_text_decoder_vocabulary(generation->decoder);
    if (!cse_logit_rules_are_empty(&r->settings->rules)) {
        const cse_token_history history = {
            .prompt = w->start >= 0 ? &w->start : r->prompt,
            .prompt_count = w->start >= 0 ? 1 : r->count,
            .text = w->text,
            .count = w->count,
            .ends = r->settings->ends,
            .end_count = r->settings->end_count,
        };
        memcpy(generation->logits, logits, (size_t)vocabulary * sizeof *logits);
        cse_logit_rules_apply(&r->settings->rules, &history, generation->logits, vocabulary);
        logits = generation->logits;
    }
    return cse_sampler_draw(w->sampler, logits, r->number, r->count + w->count, NULL);
}

/* Models have more tokens than their tokenizers, where the sizes of their weights are rounded up:
 * such a token has no text. */
static cse_status decode(const cse_generation *generation, int32_t token, cse_text *bytes)
{
    const cse_text_codec *codec = generation->options.codec;
    return token < cse_text_codec_vocabulary(codec) ? cse_text_codec_decode(codec, token, bytes)
                                                    : CSE_OK;
}

/* Tells the listener of a token. *goes_on: the text is not over. */
static cse_status tell(cse_generation *generation, writing *w, int32_t token, bool *goes_on,
                       cse_generation_result *result)
{
    w->bytes.size = w->shown.size = 0;
    CSE_TRY(decode(generation, token, &w->bytes));
    w->text[w->count++] = token;
    result->tokens++;
    const bool stops = !cse_stop_words_add(&w->stop, w->bytes.data, w->bytes.size, &w->shown);
    const cse_generated_token told = {
        .token = token,
        .logits = cse_text_decoder_logits_of(generation->decoder, w->sequence),
        .vocabulary = cse_text_decoder_vocabulary(generation->decoder),
        .bytes = w->bytes.data,
        .byte_count = w->bytes.size,
        .shown = w->shown.data,
        .shown_count = w->shown.size,
    };
    *goes_on = w->request->listener(w->request->self, &told) && !stops;
    if (!*goes_on)
        result->end = stops ? CSE_GENERATION_STOP_WORD : CSE_GENERATION_LEFT;
    result->stop_word = w->stop.found;
    return CSE_OK;
}

static void open_writing(cse_generation *generation, const cse_generation_request *request,
                         cse_generation_result *result, writing *w)
{
    const cse_generation_settings *settings = request->settings;
    const int64_t room = cse_text_decoder_room(generation->decoder, request->count);
    *w = (writing){ .request = request, .start = cse_text_decoder_start(generation->decoder) };
    w->most = settings->max_new_tokens < room ? settings->max_new_tokens : room;
    w->text = cse_calloc((size_t)settings->max_new_tokens + 1, sizeof *w->text);
    w->sampler =
        cse_sampler_new(&settings->sampling, cse_text_decoder_vocabulary(generation->decoder));
    cse_stop_words_begin(&w->stop, settings->stop_words, settings->stop_count);
    result->stop_word = -1;
}

static void close_writing(writing *w, cse_generation_result *result)
{
    cse_stop_words_end(&w->stop, &result->rest);
    cse_stop_words_clear(&w->stop);
    cse_sampler_destroy(&w->sampler);
    cse_text_clear(&w->bytes);
    cse_text_clear(&w->shown);
    free(w->text);
    *w = (writing){ .request = NULL };
}

/* The next token, from logits that are there. *goes_on: the text is not over. */
static cse_status write_token(cse_generation *generation, writing *w, bool *goes_on,
                              cse_generation_result *result)
{
    *goes_on = false;
    if (w->count >= w->most)
        return CSE_OK;
    const int32_t token = choose(generation, w);
    if (is_end(w->request->settings, token)) {
        result->end = CSE_GENERATION_END_TOKEN;
        return CSE_OK;
    }
    CSE_TRY(tell(generation, w, token, goes_on, result));
    *goes_on = *goes_on && w->count < w->most;
    return CSE_OK;
}

static cse_status write_text(cse_generation *generation, writing *w, cse_generation_result *result)
{
    bool goes_on = true;
    CSE_TRY(write_token(generation, w, &goes_on, result));
    while (goes_on) {
        CSE_TRY(append(generation, w->text[w->count - 1]));
        CSE_TRY(write_token(generation, w, &goes_on, result));
    }
    return CSE_OK;
}

cse_status cse_generate(cse_generation *generation, const cse_generation_request *request,
                        cse_generation_result *result)
{
    writing w;
    CSE_TRY(begin(generation, request, result));
    open_writing(generation, request, result, &w);
    cse_status status = write_text(generation, &w, result);
    close_writing(&w, result);
    return status;
}

/* ---- several texts together ---- */

/* Texts under way, by sequence of the decoder; `request` NULL: there is none. */
typedef struct together {
    cse_generation *generation;
    const cse_generation_request *requests;
    cse_generation_result *results;
    int64_t count, next; /* requests, and the first that has not begun */
    writing *writings;
    int32_t *tokens;
    int64_t sequences;
} together;

/* A sequence that has the request's prompt and no more; -1: none. */
static int64_t same_prompt(const together *t, const cse_generation_request *request)
{
    for (int64_t s = 0; s < t->sequences; s++) {
        const cse_generation_request *other = t->writings[s].request;
        if (other != NULL && t->writings[s].count <= 1 && t->tokens[s] == CSE_TOKEN_RESTS &&
            other->prompt == request->prompt && other->count == request->count)
            return s;
    }
    return -1;
}

/* The next requests, until one of them goes on. `tokens` says of a sequence that nothing was
 * appended to it yet. */
static cse_status fill(together *t, int64_t sequence)
{
    writing *w = &t->writings[sequence];
    bool goes_on = false;
    cse_status status = CSE_OK;
    while (!goes_on && t->next < t->count && status == CSE_OK) {
        const cse_generation_request *request = &t->requests[t->next];
        cse_generation_result *result = &t->results[t->next++];
        const int64_t same = same_prompt(t, request);
        if (same >= 0)
            cse_text_decoder_copy(t->generation->decoder, same, sequence);
        else
            CSE_TRY(cse_text_decoder_begin_at(t->generation->decoder, sequence, request->prompt,
                                              request->count));
        t->tokens[sequence] = CSE_TOKEN_RESTS;
        open_writing(t->generation, request, result, w);
        w->sequence = sequence;
        status = write_token(t->generation, w, &goes_on, result);
        if (!goes_on || status != CSE_OK)
            close_writing(w, result);
    }
    return status;
}

/* One pass over a token of each text. *goes_on: there are more. */
static cse_status write_tokens(together *t, bool *goes_on)
{
    *goes_on = false;
    for (int64_t s = 0; s < t->sequences; s++) {
        const writing *w = &t->writings[s];
        t->tokens[s] = w->request != NULL ? w->text[w->count - 1] : CSE_TOKEN_RESTS;
        *goes_on = *goes_on || w->request != NULL;
    }
    if (!*goes_on)
        return CSE_OK;
    CSE_TRY(cse_text_decoder_append_each(t->generation->decoder, t->tokens));
    for (int64_t s = 0; s < t->sequences; s++) {
        writing *w = &t->writings[s];
        bool this_one = false;
        if (w->request == NULL)
            continue;
        cse_generation_result *result = &t->results[w->request - t->requests];
        CSE_TRY(write_token(t->generation, w, &this_one, result));
        if (this_one)
            continue;
        close_writing(w, result);
        CSE_TRY(fill(t, s));
    }
    return CSE_OK;
}

cse_status cse_generate_together(cse_generation *generation,
                                 const cse_generation_request requests[], int64_t count,
                                 cse_generation_result results[])
{
    together t = { generation, requests, results, count,
                   .sequences = cse_text_decoder_sequences(generation->decoder) };
    bool goes_on = true;
    cse_status status = CSE_OK;
    t.writings = cse_calloc((size_t)t.sequences, sizeof *t.writings);
    t.tokens = cse_calloc((size_t)t.sequences, sizeof *t.tokens);
    generation->count = 0;
    for (int64_t s = 0; s < t.sequences && status == CSE_OK; s++)
        status = fill(&t, s);
    while (goes_on && status == CSE_OK)
        status = write_tokens(&t, &goes_on);
    for (int64_t s = 0; s < t.sequences; s++)
        if (t.writings[s].request != NULL)
            close_writing(&t.writings[s], &results[t.writings[s].request - requests]);
    free(t.writings);
    free(t.tokens);
    return status;
}

/* ---- beam search ---- */

cse_status cse_generation_text(const cse_generation *generation,
                               const cse_generation_settings *settings, const int32_t *tokens,
                               int64_t count, cse_text *text)
{
    cse_text bytes = { 0 };
    cse_stop_words stop = { .count = 0 };
    cse_status status = CSE_OK;
    cse_stop_words_begin(&stop, settings->stop_words, settings->stop_count);
    for (int64_t i = 0; i < count && status == CSE_OK && !is_end(settings, tokens[i]); i++) {
        bytes.size = 0;
        status = decode(generation, tokens[i], &bytes);
        if (status == CSE_OK && !cse_stop_words_add(&stop, bytes.data, bytes.size, text))
            break;
    }
    cse_stop_words_end(&stop, text);
    cse_stop_words_clear(&stop);
    cse_text_clear(&bytes);
    return status;
}

typedef struct stopping {
    const cse_generation *generation;
    const cse_generation_settings *settings;
} stopping;

static bool has_stop_word(void *self, const int32_t *tokens, int64_t count)
{
    const stopping *s = self;
    cse_text bytes = { 0 };
    bool found = false;
    for (int64_t i = 0; i < count; i++)
        if (decode(s->generation, tokens[i], &bytes) != CSE_OK)
            break; /* it is told when the text is read */
    for (int i = 0; i < s->settings->stop_count && bytes.size > 0; i++)
        found = found || memmem(bytes.data, bytes.size, s->settings->stop_words[i],
                                strlen(s->settings->stop_words[i])) != NULL;
    cse_text_clear(&bytes);
    return found;
}

cse_status cse_generate_by_beams(cse_generation *generation,
                                 const cse_generation_settings *settings,
                                 const cse_beam_request *request, cse_beam_text *texts,
                                 int64_t *count)
{
    stopping stop = { generation, settings };
    cse_beam_request whole = *request;
    const int64_t room = cse_text_decoder_room(generation->decoder, request->prompt_count);
    whole.rules = settings->rules;
    whole.max_new_tokens = settings->max_new_tokens < room ? settings->max_new_tokens : room;
    whole.ends = settings->ends;
    whole.end_count = settings->end_count;
    if (settings->stop_count > 0) {
        whole.has_ended = has_stop_word;
        whole.self = &stop;
    }
    generation->count = 0;
    *count = 0;
    return whole.max_new_tokens < 1 ? CSE_OK
                                    : cse_beam_search(generation->decoder, &whole, texts, count);
}
