/* Goes from token to token. */
#include "run/infer/generation.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/texts_together.h"
#include "run/infer/writing.h"

enum { FEW_TOKENS = 64 };

cse_status cse_generation_new(const cse_generation_options *options, cse_generation **result)
{
    const cse_text_decoder_options sizes = { .model = options->model,
                                             .longest_prompt = options->longest_prompt,
                                             .max_new_tokens = options->max_new_tokens,
                                             .ends_when_full = options->ends_when_full,
                                             .sequences = options->together,
                                             .context = options->context,
                                             .pool_tokens = options->pool_tokens };
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

int64_t cse_generation_sequences(const cse_generation *generation)
{
    return cse_text_decoder_sequences(generation->decoder);
}

cse_generation_times cse_generation_times_of(const cse_generation *generation)
{
    return generation->times;
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
    const cse_two_clocks begun = cse_two_clocks_now();
    CSE_TRY(cse_text_decoder_append(generation->decoder, token));
    cse_generation_passed(generation, 1, begun);
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
    CSE_TRY(cse_generation_read(generation, 0, request->prompt, request->count));
    remember(generation, request->prompt, request->count);
    return CSE_OK;
}

/* ---- the text ---- */

static cse_status write_text(cse_generation *generation, cse_writing *w,
                             cse_generation_result *result)
{
    bool goes_on = true;
    CSE_TRY(cse_writing_go_on(generation, w, &goes_on, result));
    while (goes_on) {
        CSE_TRY(append(generation, w->text[w->count - 1]));
        CSE_TRY(cse_writing_go_on(generation, w, &goes_on, result));
    }
    return CSE_OK;
}

cse_status cse_generate(cse_generation *generation, const cse_generation_request *request,
                        cse_generation_result *result)
{
    cse_writing w;
    CSE_TRY(begin(generation, request, result));
    cse_writing_open(generation, request, result, &w);
    cse_status status = write_text(generation, &w, result);
    cse_writing_close(&w, result);
    return status;
}

/* ---- several texts together ---- */

cse_status cse_generate_together(cse_generation *generation,
                                 const cse_generation_request requests[], int64_t count,
                                 cse_generation_result results[])
{
    int64_t next = 0;
    bool waits;
    cse_status status = CSE_OK;
    cse_texts_together *together = cse_texts_together_new(generation);
    while (status == CSE_OK && (next < count || cse_texts_together_count(together) > 0)) {
        bool begun = true;
        while (begun && next < count && status == CSE_OK) {
            const cse_text_together text = { .request = &requests[next], .result = &results[next] };
            status = cse_texts_together_begin(together, &text, &begun);
            next += begun;
        }
        if (status == CSE_OK)
            status = cse_texts_together_step(together, &waits);
    }
    cse_texts_together_destroy(&together);
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
    for (int64_t i = 0; i < count && status == CSE_OK && !cse_is_end_token(settings, tokens[i]);
         i++) {
        bytes.size = 0;
        status = cse_generation_decode(generation, tokens[i], &bytes);
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
        if (cse_generation_decode(s->generation, tokens[i], &bytes) != CSE_OK)
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
