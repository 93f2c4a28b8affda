/* The order of what is done to a token: rules on logits, sampling, the end, the text. */
#include "run/infer/writing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "run/infer/token_decoder.h"

cse_two_clocks cse_two_clocks_now(void)
{
    struct timespec processor;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
    return (cse_two_clocks){ cse_clock_ns(),
                             processor.tv_sec * INT64_C(1000000000) + processor.tv_nsec };
}

void cse_generation_passed(cse_generation *generation, int64_t tokens, cse_two_clocks begun)
{
    const cse_two_clocks now = cse_two_clocks_now();
    if (generation->times.first_pass_ns == 0) {
        generation->times.first_pass_ns = now.ns - begun.ns;
        return;
    }
    generation->times.passes++;
    generation->times.tokens += tokens;
    generation->times.pass_ns += now.ns - begun.ns;
    generation->times.pass_processor_ns += now.processor_ns - begun.processor_ns;
}

cse_status cse_generation_read(cse_generation *generation, int64_t sequence, const int32_t *prompt,
                               int64_t count)
{
    const cse_two_clocks begun = cse_two_clocks_now();
    CSE_TRY(cse_text_decoder_begin_at(generation->decoder, sequence, prompt, count));
    const cse_two_clocks now = cse_two_clocks_now();
    if (generation->times.first_prompt_ns == 0) {
        generation->times.first_prompt_ns = now.ns - begun.ns;
        return CSE_OK;
    }
    generation->times.prompts++;
    generation->times.prompt_tokens += count;
    generation->times.prompt_ns += now.ns - begun.ns;
    generation->times.prompt_processor_ns += now.processor_ns - begun.processor_ns;
    return CSE_OK;
}

cse_status cse_generation_append_each(cse_generation *generation, const int32_t tokens[])
{
    const cse_two_clocks begun = cse_two_clocks_now();
    CSE_TRY(cse_text_decoder_append_each(generation->decoder, tokens));
    int64_t count = 0;
    for (int64_t s = 0; s < cse_text_decoder_sequences(generation->decoder); s++)
        count += tokens[s] != CSE_TOKEN_RESTS;
    cse_generation_passed(generation, count, begun);
    return CSE_OK;
}

bool cse_is_end_token(const cse_generation_settings *settings, int32_t token)
{
    for (int64_t i = 0; i < settings->end_count; i++)
        if (settings->ends[i] == token)
            return true;
    return false;
}

static int32_t choose(cse_generation *generation, cse_writing *w)
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

cse_status cse_generation_decode(const cse_generation *generation, int32_t token, cse_text *bytes)
{
    const cse_text_codec *codec = generation->options.codec;
    return token < cse_text_codec_vocabulary(codec) ? cse_text_codec_decode(codec, token, bytes)
                                                    : CSE_OK;
}

/* Tells the listener of a token. *goes_on: the text is not over. */
static cse_status tell(cse_generation *generation, cse_writing *w, int32_t token, bool *goes_on,
                       cse_generation_result *result)
{
    w->bytes.size = w->shown.size = 0;
    CSE_TRY(cse_generation_decode(generation, token, &w->bytes));
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

void cse_writing_open(cse_generation *generation, const cse_generation_request *request,
                      cse_generation_result *result, cse_writing *w)
{
    const cse_generation_settings *settings = request->settings;
    const int64_t room = cse_text_decoder_room(generation->decoder, request->count);
    *w = (cse_writing){ .request = request, .start = cse_text_decoder_start(generation->decoder) };
    w->most = settings->max_new_tokens < room ? settings->max_new_tokens : room;
    w->text = cse_calloc((size_t)settings->max_new_tokens + 1, sizeof *w->text);
    w->sampler =
        cse_sampler_new(&settings->sampling, cse_text_decoder_vocabulary(generation->decoder));
    cse_stop_words_begin(&w->stop, settings->stop_words, settings->stop_count);
    result->stop_word = -1;
}

void cse_writing_close(cse_writing *w, cse_generation_result *result)
{
    cse_stop_words_end(&w->stop, &result->rest);
    cse_stop_words_clear(&w->stop);
    cse_sampler_destroy(&w->sampler);
    cse_text_clear(&w->bytes);
    cse_text_clear(&w->shown);
    free(w->text);
    *w = (cse_writing){ .request = NULL };
}

cse_status cse_writing_go_on(cse_generation *generation, cse_writing *w, bool *goes_on,
                             cse_generation_result *result)
{
    *goes_on = false;
    if (w->count >= w->most)
        return CSE_OK;
    const int32_t token = choose(generation, w);
    if (cse_is_end_token(w->request->settings, token)) {
        result->end = CSE_GENERATION_END_TOKEN;
        return CSE_OK;
    }
    CSE_TRY(tell(generation, w, token, goes_on, result));
    *goes_on = *goes_on && w->count < w->most;
    return CSE_OK;
}
