/* Penalties are applied once to each token of the vocabulary, by how often it came. */
#include "run/infer/logit_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

bool cse_logit_rules_are_empty(const cse_logit_rules *rules)
{
    return (rules->repetition_penalty == 0 || rules->repetition_penalty == 1) &&
           rules->presence_penalty == 0 && rules->frequency_penalty == 0 &&
           rules->no_repeat_ngram_size == 0 && rules->min_new_tokens == 0 && rules->bias_count == 0;
}

static int32_t token_at(const cse_token_history *history, int64_t place)
{
    return place < history->prompt_count ? history->prompt[place]
                                         : history->text[place - history->prompt_count];
}

static void penalize(const cse_logit_rules *rules, const cse_token_history *history, float *logits,
                     int64_t vocabulary)
{
    int32_t *counts = cse_calloc((size_t)vocabulary, sizeof *counts); /* generated */
    bool *came = cse_calloc((size_t)vocabulary, sizeof *came);
    const bool repeats = rules->repetition_penalty != 0 && rules->repetition_penalty != 1;
    for (int64_t i = 0; i < history->prompt_count + history->count; i++) {
        const int32_t token = token_at(history, i);
        if (token < 0 || token >= vocabulary)
            continue;
        came[token] = true;
        counts[token] += i >= history->prompt_count;
    }
    for (int64_t t = 0; t < vocabulary; t++) {
        if (repeats && came[t])
            logits[t] = logits[t] < 0 ? logits[t] * (float)rules->repetition_penalty
                                      : logits[t] / (float)rules->repetition_penalty;
        if (counts[t] > 0)
            logits[t] -=
                (float)(rules->presence_penalty + rules->frequency_penalty * (double)counts[t]);
    }
    free(counts);
    free(came);
}

/* The token behind each place where the last size - 1 tokens stood before. */
static void forbid_repeated(int64_t size, const cse_token_history *history, float *logits,
                            int64_t vocabulary)
{
    const int64_t count = history->prompt_count + history->count;
    for (int64_t first = 0; first + size <= count; first++) {
        int64_t same = 0;
        while (same < size - 1 &&
               token_at(history, first + same) == token_at(history, count - (size - 1) + same))
            same++;
        const int32_t next = token_at(history, first + size - 1);
        if (same == size - 1 && next >= 0 && next < vocabulary)
            logits[next] = -INFINITY;
    }
}

void cse_logit_rules_apply(const cse_logit_rules *rules, const cse_token_history *history,
                           float *logits, int64_t vocabulary)
{
    for (int64_t i = 0; i < rules->bias_count; i++)
        if (rules->biases[i].token >= 0 && rules->biases[i].token < vocabulary)
            logits[rules->biases[i].token] += rules->biases[i].bias;
    if ((rules->repetition_penalty != 0 && rules->repetition_penalty != 1) ||
        rules->presence_penalty != 0 || rules->frequency_penalty != 0)
        penalize(rules, history, logits, vocabulary);
    if (rules->no_repeat_ngram_size > 0)
        forbid_repeated(rules->no_repeat_ngram_size, history, logits, vocabulary);
    for (int64_t i = 0; i < history->end_count && history->count < rules->min_new_tokens; i++)
        if (history->ends[i] >= 0 && history->ends[i] < vocabulary)
            logits[history->ends[i]] = -INFINITY;
}
