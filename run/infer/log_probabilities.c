/* Each of the most likely tokens is found by a pass over all tokens: few are asked for. */
#include "run/infer/log_probabilities.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"

json_t *cse_text_of_bytes(const char *bytes, size_t size)
{
    cse_text text = { 0 };
    cse_text_add(&text, "%s", "");
    for (size_t i = 0; i < size;) {
        const size_t length = cse_utf8_length(bytes + i, size - i);
        if (length > 0)
            cse_text_add_bytes(&text, bytes + i, length);
        else
            cse_text_add(&text, "\xEF\xBF\xBD");
        i += length > 0 ? length : 1;
    }
    json_t *json = json_stringn_nocheck(text.data, text.size);
    cse_text_clear(&text);
    return json;
}

/* The members of one token but for top_logprobs. */
static json_t *one(const cse_text_codec *codec, const cse_log_normalizer *normalizer, int32_t token,
                   float logit)
{
    cse_text text = { 0 };
    json_t *bytes = json_array();
    cse_text_add(&text, "%s", "");
    (void)cse_text_codec_decode(codec, token, &text); /* one without a text has none */
    for (size_t i = 0; i < text.size; i++)
        json_array_append_new(bytes, json_integer((unsigned char)text.data[i]));
    const double p = cse_normalized_logit(normalizer, logit);
    json_t *entry = json_pack("{s:o, s:f, s:o}", "token", cse_text_of_bytes(text.data, text.size),
                              "logprob", isfinite(p) ? p : -9999.0, "bytes", bytes);
    cse_text_clear(&text);
    return entry;
}

/* The likeliest token that is none of those before; -1: there is none. */
static int32_t next_best(const cse_generated_token *of, const int32_t *before, int count)
{
    int64_t best = -1;
    for (int64_t t = 0; t < of->vocabulary; t++) {
        bool taken = best >= 0 && of->logits[t] <= of->logits[best];
        for (int i = 0; i < count && !taken; i++)
            taken = before[i] == t;
        best = taken ? best : t;
    }
    return (int32_t)best;
}

json_t *cse_log_probability_json(const cse_text_codec *codec, const cse_generated_token *token,
                                 int top)
{
    const cse_log_normalizer normalizer = cse_log_normalizer_of(token->logits, token->vocabulary);
    json_t *entry = one(codec, &normalizer, token->token, token->logits[token->token]);
    json_t *list = json_array();
    int32_t *best = cse_calloc((size_t)top + 1, sizeof *best);
    for (int i = 0; i < top; i++) {
        best[i] = next_best(token, best, i);
        if (best[i] < 0)
            break;
        json_array_append_new(list, one(codec, &normalizer, best[i], token->logits[best[i]]));
    }
    free(best);
    json_object_set_new(entry, "top_logprobs", list);
    return entry;
}

static json_int_t characters(const json_t *text)
{
    json_int_t count = 0;
    const char *bytes = json_string_value(text);
    for (size_t i = 0; i < json_string_length(text); i++)
        count += (bytes[i] & 0xC0) != 0x80;
    return count;
}

json_t *cse_log_probabilities_of_text(const json_t *list, int top)
{
    json_t *tokens = json_array(), *values = json_array(), *tops = json_array(),
           *places = json_array();
    json_int_t place = 0;
    size_t i, k;
    json_t *entry, *other;
    json_array_foreach((json_t *)(uintptr_t)list, i, entry)
    {
        json_t *best = json_object();
        json_array_foreach(json_object_get(entry, "top_logprobs"), k, other)
            json_object_set(best, json_string_value(json_object_get(other, "token")),
                            json_object_get(other, "logprob"));
        json_array_append(tokens, json_object_get(entry, "token"));
        json_array_append(values, json_object_get(entry, "logprob"));
        json_array_append_new(tops, best);
        json_array_append_new(places, json_integer(place));
        place += characters(json_object_get(entry, "token"));
    }
    if (top == 0) {
        json_decref(tops);
        tops = json_null();
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "tokens", tokens, "token_logprobs", values,
                     "top_logprobs", tops, "text_offset", places);
}
