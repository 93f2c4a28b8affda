/* Sampling in double, by one uniform number a token (Holtzman et al. 2020 for top_p, Nguyen et al.
 * 2024 for min_p). */
#include "run/infer/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/random.h"

typedef struct candidate {
    double weight; /* e^((logit - largest) / temperature) */
    int32_t token;
} candidate;

struct cse_sampler {
    cse_sampling sampling;
    int64_t vocabulary;
    candidate *candidates; /* [vocabulary] */
};

cse_sampler *cse_sampler_new(const cse_sampling *sampling, int64_t vocabulary)
{
    cse_sampler *sampler = cse_calloc(1, sizeof *sampler);
    *sampler = (cse_sampler){ .sampling = *sampling, .vocabulary = vocabulary };
    sampler->candidates = cse_calloc((size_t)vocabulary, sizeof *sampler->candidates);
    return sampler;
}

void cse_sampler_destroy(cse_sampler **sampler)
{
    if (*sampler != NULL)
        free((*sampler)->candidates);
    free(*sampler);
    *sampler = NULL;
}

static int most_likely_first(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->token < b->token ? -1 : 1;
}

static int64_t index_of_largest(const float *logits, int64_t count)
{
    int64_t largest = 0;
    for (int64_t i = 1; i < count; i++)
        if (logits[i] > logits[largest])
            largest = i;
    return largest;
}

cse_log_normalizer cse_log_normalizer_of(const float *logits, int64_t vocabulary)
{
    const double largest = (double)logits[index_of_largest(logits, vocabulary)];
    double sum = 0;
    for (int64_t i = 0; i < vocabulary; i++)
        sum += exp((double)logits[i] - largest);
    return (cse_log_normalizer){ .largest = largest, .log_sum = log(sum) };
}

double cse_normalized_logit(const cse_log_normalizer *normalizer, float logit)
{
    return (double)logit - normalizer->largest - normalizer->log_sum;
}

double cse_log_probability(const float *logits, int64_t vocabulary, int32_t token)
{
    const cse_log_normalizer normalizer = cse_log_normalizer_of(logits, vocabulary);
    return cse_normalized_logit(&normalizer, logits[token]);
}

/* Keeps the first `count` candidates, and those as likely as the last of them. */
static int64_t keep_top_k(const cse_sampler *sampler, int64_t count)
{
    int64_t kept = sampler->sampling.top_k;
    if (kept <= 0 || kept >= count)
        return count;
    while (kept < count && sampler->candidates[kept].weight == sampler->candidates[kept - 1].weight)
        kept++;
    return kept;
}

/* At least the first one stays. */
static int64_t keep_top_p(const cse_sampler *sampler, int64_t count)
{
    double sum = 0, reached = 0;
    if (sampler->sampling.top_p >= 1)
        return count;
    for (int64_t i = 0; i < count; i++)
        sum += sampler->candidates[i].weight;
    for (int64_t i = 0; i < count; i++) {
        reached += sampler->candidates[i].weight;
        if (reached >= sampler->sampling.top_p * sum)
            return i + 1;
    }
    return count;
}

/* Weights are relative to the most likely token already. */
static int64_t keep_min_p(const cse_sampler *sampler, int64_t count)
{
    if (sampler->sampling.min_p <= 0)
        return count;
    while (count > 1 && sampler->candidates[count - 1].weight < sampler->sampling.min_p)
        count--;
    return count;
}

static int32_t draw(cse_sampler *sampler, const float *logits, float largest, uint32_t sequence,
                    int64_t position)
{
    int64_t count = sampler->vocabulary;
    candidate *candidates = sampler->candidates;
    for (int64_t i = 0; i < count; i++)
        candidates[i] =
            (candidate){ exp(((double)logits[i] - (double)largest) / sampler->sampling.temperature),
                         (int32_t)i };
    if (sampler->sampling.top_k > 0 || sampler->sampling.top_p < 1 || sampler->sampling.min_p > 0)
        qsort(candidates, (size_t)count, sizeof *candidates, most_likely_first);
    count = keep_min_p(sampler, keep_top_p(sampler, keep_top_k(sampler, count)));
    double sum = 0, reached = 0;
    for (int64_t i = 0; i < count; i++)
        sum += candidates[i].weight;
    const uint32_t stream = (uint32_t)cse_hash_string("generate");
    const double wanted =
        sum * (double)cse_draw_uniform(sampler->sampling.seed, position, stream, sequence, 0);
    for (int64_t i = 0; i < count; i++) {
        reached += candidates[i].weight;
        if (wanted < reached)
            return candidates[i].token;
    }
    return candidates[count - 1].token;
}

int32_t cse_sampler_draw(cse_sampler *sampler, const float *logits, uint32_t sequence,
                         int64_t position, double *probability)
{
    int32_t token = (int32_t)index_of_largest(logits, sampler->vocabulary);
    const float largest = logits[token];
    if (sampler->sampling.temperature > 0)
        token = draw(sampler, logits, largest, sequence, position);
    if (probability != NULL)
        *probability = exp(cse_log_probability(logits, sampler->vocabulary, token));
    return token;
}
