/* A text has a sequence of the decoder, and place for all its tokens from the beginning, so that it
 * never waits for others in its middle. One that rests gives its place to one that waits for it:
 * its tokens are read again by one pass when it goes on, which gives the same bits. */
#include "run/infer/texts_together.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/token_decoder.h"
#include "run/infer/writing.h"

typedef struct under_way {
    cse_text_together text;
    cse_writing writing; /* without a request: the sequence is free */
    bool is_new;         /* nothing was appended to its prompt */
} under_way;

struct cse_texts_together {
    cse_generation *generation;
    int64_t sequences, count;
    under_way *texts; /* by sequence */
    int32_t *tokens;
    under_way *parked; /* without a sequence */
    int64_t parked_count, parked_capacity;
};

cse_texts_together *cse_texts_together_new(cse_generation *generation)
{
    cse_texts_together *together = cse_calloc(1, sizeof *together);
    together->generation = generation;
    together->sequences = cse_text_decoder_sequences(generation->decoder);
    together->texts = cse_calloc((size_t)together->sequences, sizeof *together->texts);
    together->tokens = cse_calloc((size_t)together->sequences, sizeof *together->tokens);
    generation->count = 0;
    return together;
}

static void finish(cse_texts_together *together, int64_t sequence)
{
    under_way *u = &together->texts[sequence];
    cse_writing_close(&u->writing, u->text.result);
    cse_text_decoder_leave(together->generation->decoder, sequence);
    together->count--;
}

void cse_texts_together_destroy(cse_texts_together **together)
{
    cse_texts_together *old = *together;
    *together = NULL;
    if (old == NULL)
        return;
    for (int64_t s = 0; s < old->sequences; s++)
        if (old->texts[s].writing.request != NULL)
            finish(old, s);
    for (int64_t p = 0; p < old->parked_count; p++)
        cse_writing_close(&old->parked[p].writing, old->parked[p].text.result);
    free(old->parked);
    free(old->texts);
    free(old->tokens);
    free(old);
}

int64_t cse_texts_together_count(const cse_texts_together *together)
{
    return together->count;
}

/* Writes the next token of a text; it may be the last one. */
static cse_status write_token(cse_texts_together *together, int64_t sequence)
{
    under_way *u = &together->texts[sequence];
    bool goes_on = false;
    CSE_TRY(cse_writing_go_on(together->generation, &u->writing, &goes_on, u->text.result));
    if (goes_on)
        return CSE_OK;
    const cse_text_together text = u->text;
    finish(together, sequence);
    if (text.over != NULL)
        text.over(text.self);
    return CSE_OK;
}

static bool rests(const under_way *u)
{
    return u->writing.request != NULL && u->text.rests != NULL && u->text.rests(u->text.self);
}

/* ---- places ---- */

/* Of the prompt and all that may follow it. */
static int64_t tokens_of(const cse_texts_together *together, const cse_generation_request *request)
{
    const int64_t room = cse_text_decoder_room(together->generation->decoder, request->count);
    const int64_t most = request->settings->max_new_tokens;
    return request->count + (most < room ? most : room);
}

/* A sequence with place for the text; -1: there is none now. */
static int64_t find_place(const cse_texts_together *together, const cse_generation_request *request)
{
    int64_t s = 0;
    while (s < together->sequences && together->texts[s].writing.request != NULL)
        s++;
    return s < together->sequences && cse_text_decoder_take(together->generation->decoder, s,
                                                            tokens_of(together, request))
               ? s
               : -1;
}

/* A text that rests leaves its place; false: none does. */
static bool park(cse_texts_together *together)
{
    int64_t s = 0;
    while (s < together->sequences && !rests(&together->texts[s]))
        s++;
    if (s == together->sequences || together->sequences == 1)
        return false;
    CSE_GROW(together->parked, together->parked_count, together->parked_capacity);
    together->parked[together->parked_count++] = together->texts[s];
    together->texts[s] = (under_way){ .is_new = false };
    cse_text_decoder_leave(together->generation->decoder, s);
    return true;
}

/* The first parked text that rests no more; parked_count: there is none. */
static int64_t next_parked(const cse_texts_together *together)
{
    int64_t p = 0;
    while (p < together->parked_count && rests(&together->parked[p]))
        p++;
    return p;
}

/* That text goes on, where there is place, or a text that rests leaves its own. */
static cse_status go_on(cse_texts_together *together)
{
    const int64_t p = next_parked(together);
    if (p == together->parked_count)
        return CSE_OK;
    under_way u = together->parked[p];
    const cse_generation_request *request = u.writing.request;
    const int64_t count = request->count + u.writing.count;
    int64_t s = find_place(together, request);
    while (s < 0 && park(together))
        s = find_place(together, request);
    if (s < 0)
        return CSE_OK;
    memmove(&together->parked[p], &together->parked[p + 1],
            (size_t)(--together->parked_count - p) * sizeof *together->parked);
    u.writing.sequence = s;
    together->texts[s] = u;
    int32_t *tokens = cse_calloc((size_t)count, sizeof *tokens);
    memcpy(tokens, request->prompt, (size_t)request->count * sizeof *tokens);
    memcpy(tokens + request->count, u.writing.text, (size_t)u.writing.count * sizeof *tokens);
    const cse_status status = cse_generation_read(together->generation, s, tokens, count);
    free(tokens);
    return status == CSE_OK ? write_token(together, s) : status;
}

/* ---- beginning ---- */

/* A sequence that has the request's prompt and no more; -1: none. */
static int64_t same_prompt(const cse_texts_together *together,
                           const cse_generation_request *request)
{
    for (int64_t s = 0; s < together->sequences; s++) {
        const under_way *u = &together->texts[s];
        const cse_generation_request *other = u->writing.request;
        if (other != NULL && u->is_new && other->count == request->count &&
            memcmp(other->prompt, request->prompt,
                   (size_t)request->count * sizeof *request->prompt) == 0)
            return s;
    }
    return -1;
}

static cse_status read_prompt(cse_texts_together *together, int64_t sequence,
                              const cse_generation_request *request)
{
    cse_text_decoder *decoder = together->generation->decoder;
    const int64_t same = same_prompt(together, request);
    if (same < 0)
        return cse_generation_read(together->generation, sequence, request->prompt, request->count);
    cse_text_decoder_copy(decoder, same, sequence);
    return CSE_OK;
}

cse_status cse_texts_together_begin(cse_texts_together *together, const cse_text_together *text,
                                    bool *begun)
{
    const cse_generation_request *request = text->request;
    cse_text_decoder *decoder = together->generation->decoder;
    const bool others_wait = next_parked(together) < together->parked_count;
    int64_t s = others_wait ? -1 : find_place(together, request);
    while (!others_wait && s < 0 && park(together))
        s = find_place(together, request);
    *begun = s >= 0;
    if (s < 0)
        return CSE_OK;
    under_way *u = &together->texts[s];
    const cse_status status = read_prompt(together, s, request);
    if (status != CSE_OK) {
        cse_text_decoder_leave(decoder, s);
        return status;
    }
    *u = (under_way){ .text = *text, .is_new = true };
    cse_writing_open(together->generation, request, text->result, &u->writing);
    u->writing.sequence = s;
    together->count++;
    return write_token(together, s);
}

/* ---- a pass ---- */

cse_status cse_texts_together_step(cse_texts_together *together, bool *waits)
{
    *waits = true;
    CSE_TRY(go_on(together));
    for (int64_t s = 0; s < together->sequences; s++) {
        under_way *u = &together->texts[s];
        const cse_writing *w = &u->writing;
        const bool takes_part = w->request != NULL && !rests(u);
        together->tokens[s] = takes_part ? w->text[w->count - 1] : CSE_TOKEN_RESTS;
        u->is_new = u->is_new && !takes_part;
        *waits = *waits && !takes_part;
    }
    if (*waits)
        return CSE_OK;
    CSE_TRY(cse_generation_append_each(together->generation, together->tokens));
    for (int64_t s = 0; s < together->sequences; s++)
        if (together->tokens[s] != CSE_TOKEN_RESTS)
            CSE_TRY(write_token(together, s));
    return CSE_OK;
}
