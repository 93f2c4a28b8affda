/* The decoder holds one text: keys and values of each beam are copied out of it, and back before
 * the beam's next token. */
#include "run/infer/beam_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/sampler.h"

typedef struct beam {
    int32_t *tokens; /* [max_new_tokens] */
    int64_t count;
    double score; /* the sum; of a text that ended, divided by its length */
    float *kept;  /* of a running beam: keys and values of the tokens that the decoder saw */
} beam;

/* A running beam with one more token. */
typedef struct candidate {
    int64_t parent;
    int32_t token;
    double score;
    bool ends;
} candidate;

typedef struct search {
    cse_text_decoder *decoder;
    const cse_beam_request *request;
    int64_t beams, vocabulary;
    beam *running, *next, *ended;
    int64_t running_count, ended_count;
    candidate *candidates;
    int64_t candidate_count, most_candidates;
    float *scores;  /* [vocabulary] of one beam */
    int32_t *text;  /* [max_new_tokens] scratch */
    int32_t start;  /* of a model with an encoder; -1 */
    int64_t length; /* tokens of each running beam */
} search;

/* ---- one step ---- */

static void take_log_probabilities(search *s, const float *logits)
{
    const cse_log_normalizer normalizer = cse_log_normalizer_of(logits, s->vocabulary);
    for (int64_t t = 0; t < s->vocabulary; t++)
        s->scores[t] = (float)cse_normalized_logit(&normalizer, logits[t]);
}

static void add_candidate(search *s, candidate one)
{
    int64_t place = s->candidate_count;
    if (isinf(one.score) ||
        (place == s->most_candidates && s->candidates[place - 1].score >= one.score))
        return;
    place = place == s->most_candidates ? place - 1 : place;
    for (; place > 0 && s->candidates[place - 1].score < one.score; place--)
        s->candidates[place] = s->candidates[place - 1];
    s->candidates[place] = one;
    s->candidate_count += s->candidate_count < s->most_candidates;
}

/* Adds the best continuations of running beam `parent` to the candidates. */
static void look_at(search *s, int64_t parent, const float *logits)
{
    const cse_beam_request *r = s->request;
    const beam *from = &s->running[parent];
    const cse_token_history history = {
        .prompt = s->start >= 0 ? &s->start : r->prompt,
        .prompt_count = s->start >= 0 ? 1 : r->prompt_count,
        .text = from->tokens,
        .count = from->count,
        .ends = r->ends,
        .end_count = r->end_count,
    };
    take_log_probabilities(s, logits);
    cse_logit_rules_apply(&r->rules, &history, s->scores, s->vocabulary);
    for (int64_t t = 0; t < s->vocabulary; t++)
        add_candidate(s, (candidate){ .parent = parent,
                                      .token = (int32_t)t,
                                      .score = from->score + (double)s->scores[t] });
}

static bool has_ended(search *s, const candidate *one)
{
    const cse_beam_request *r = s->request;
    if (s->length + 1 >= r->max_new_tokens)
        return true;
    for (int64_t i = 0; i < r->end_count; i++)
        if (r->ends[i] == one->token)
            return true;
    if (r->has_ended == NULL)
        return false;
    if (s->length > 0)
        memcpy(s->text, s->running[one->parent].tokens, (size_t)s->length * sizeof *s->text);
    s->text[s->length] = one->token;
    return r->has_ended(r->self, s->text, s->length + 1);
}

/* Puts a text among those that ended, the best first; the worst gives way. */
static void end_text(search *s, const candidate *one)
{
    const double score =
        one->score / pow((double)(s->length + 1), s->request->options.length_penalty);
    int64_t place = s->ended_count;
    if (place == s->beams && s->ended[place - 1].score >= score)
        return;
    place = place == s->beams ? place - 1 : place;
    const beam free_one = s->ended[place];
    for (; place > 0 && s->ended[place - 1].score < score; place--)
        s->ended[place] = s->ended[place - 1];
    s->ended[place] = free_one;
    s->ended[place].score = score;
    s->ended[place].count = s->length + 1;
    memcpy(s->ended[place].tokens, s->running[one->parent].tokens,
           (size_t)s->length * sizeof *s->text);
    s->ended[place].tokens[s->length] = one->token;
    s->ended_count += s->ended_count < s->beams;
}

/* The best candidates that have not ended become the next running beams. */
static void choose(search *s)
{
    const bool full =
        s->ended_count == s->beams && s->request->options.early_stopping == CSE_STOPPING_FIRST;
    int64_t chosen = 0;
    for (int64_t i = 0; i < s->candidate_count; i++) {
        candidate *one = &s->candidates[i];
        one->ends = has_ended(s, one);
        if (one->ends && i < s->beams && !full)
            end_text(s, one);
        if (one->ends || chosen == s->beams)
            continue;
        beam *to = &s->next[chosen++];
        memcpy(to->tokens, s->running[one->parent].tokens, (size_t)s->length * sizeof *s->text);
        to->tokens[s->length] = one->token;
        to->count = s->length + 1;
        to->score = one->score;
        s->candidates[chosen - 1].parent = one->parent; /* read above: chosen - 1 <= i */
    }
    s->running_count = chosen;
    s->length++;
}

static bool goes_on(const search *s)
{
    const cse_beam_options *o = &s->request->options;
    if (s->running_count == 0)
        return false;
    if (s->ended_count < s->beams)
        return true;
    if (o->early_stopping == CSE_STOPPING_FIRST)
        return false;
    const bool at_the_end = o->early_stopping == CSE_STOPPING_NEVER && o->length_penalty > 0;
    const double length = (double)(at_the_end ? s->request->max_new_tokens : s->length);
    return s->next[0].score / pow(length, o->length_penalty) > s->ended[s->beams - 1].score;
}

/* Appends each beam's last token to the keys and values of its parent. */
static cse_status advance(search *s, int64_t kept_tokens)
{
    const int64_t count = s->running_count;
    s->candidate_count = 0;
    int64_t *parents = cse_calloc((size_t)count, sizeof *parents);
    for (int64_t i = 0; i < count; i++)
        parents[i] = s->candidates[i].parent;
    beam *before = s->running;
    s->running = s->next;
    s->next = before;
    cse_status status = CSE_OK;
    for (int64_t i = 0; i < count && status == CSE_OK; i++) {
        beam *one = &s->running[i];
        cse_text_decoder_restore(s->decoder, before[parents[i]].kept, kept_tokens);
        status = cse_text_decoder_append(s->decoder, one->tokens[one->count - 1]);
        if (status != CSE_OK)
            break;
        cse_text_decoder_save(s->decoder, one->kept);
        look_at(s, i, cse_text_decoder_logits(s->decoder));
    }
    free(parents);
    return status;
}

static cse_status go(search *s)
{
    const cse_beam_request *r = s->request;
    CSE_TRY(cse_text_decoder_begin(s->decoder, r->prompt, r->prompt_count));
    int64_t kept_tokens = cse_text_decoder_count(s->decoder);
    const size_t floats = (size_t)cse_text_decoder_kept_floats(s->decoder);
    for (int64_t i = 0; i < 2 * s->beams; i++) {
        beam *one = i < s->beams ? &s->running[i] : &s->next[i - s->beams];
        one->kept =
            cse_calloc((size_t)(kept_tokens + r->max_new_tokens) * floats + 1, sizeof *one->kept);
    }
    cse_text_decoder_save(s->decoder, s->running[0].kept);
    look_at(s, 0, cse_text_decoder_logits(s->decoder));
    for (;;) {
        choose(s);
        if (!goes_on(s))
            return CSE_OK;
        if (r->stop_requested != NULL && r->stop_requested())
            return cse_fail(CSE_INTERRUPTED, "ended by a signal");
        CSE_TRY(advance(s, kept_tokens));
        kept_tokens++;
    }
}

/* ---- memory ---- */

static beam *new_beams(const search *s)
{
    beam *beams = cse_calloc((size_t)s->beams, sizeof *beams);
    for (int64_t i = 0; i < s->beams; i++)
        beams[i].tokens = cse_calloc((size_t)s->request->max_new_tokens, sizeof *beams[i].tokens);
    return beams;
}

static void free_beams(beam *beams, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        free(beams[i].tokens);
        free(beams[i].kept);
    }
    free(beams);
}

cse_status cse_beam_search(cse_text_decoder *decoder, const cse_beam_request *request,
                           cse_beam_text *texts, int64_t *count)
{
    search s = { .decoder = decoder,
                 .request = request,
                 .beams = request->options.num_beams,
                 .vocabulary = cse_text_decoder_vocabulary(decoder),
                 .start = cse_text_decoder_start(decoder) };
    *count = 0;
    s.most_candidates =
        (request->end_count > 1 ? 1 + request->end_count : 2) * request->options.num_beams;
    if (s.most_candidates > s.vocabulary)
        return cse_fail(CSE_USAGE,
                        "num_beams: %lld beams choose among %lld tokens, but the model knows %lld; "
                        "give fewer beams",
                        (long long)s.beams, (long long)s.most_candidates, (long long)s.vocabulary);
    s.candidates = cse_calloc((size_t)s.most_candidates, sizeof *s.candidates);
    s.scores = cse_calloc((size_t)s.vocabulary, sizeof *s.scores);
    s.text = cse_calloc((size_t)request->max_new_tokens, sizeof *s.text);
    s.running = new_beams(&s);
    s.next = new_beams(&s);
    s.ended = new_beams(&s);
    cse_status status = go(&s);
    for (int64_t i = 0; i < s.ended_count && status == CSE_OK; i++) {
        texts[i] = (cse_beam_text){ s.ended[i].tokens, s.ended[i].count, s.ended[i].score };
        s.ended[i].tokens = NULL;
        *count = i + 1;
    }
    free_beams(s.running, s.beams);
    free_beams(s.next, s.beams);
    free_beams(s.ended, s.beams);
    free(s.candidates);
    free(s.scores);
    free(s.text);
    return status;
}
