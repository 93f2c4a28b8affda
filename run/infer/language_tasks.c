/* Rows, each of which is a text or a question. */
#include "run/infer/language_tasks.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/likelihood.h"
#include "run/infer/task_rows.h"

enum { MAX_CHOICES = 1024 };

typedef struct measuring {
    cse_text_codec *codec;
    cse_likelihoods *likelihoods;
    cse_task_result *result;
    cse_task_rows rows;
} measuring;

static cse_status wrong(const measuring *m, const char *what)
{
    return cse_task_rows_fail(&m->rows, what,
                              "accepted: {\"text\": \"...\"} or {\"context\": \"...\", "
                              "\"choices\": [\"...\", \"...\"], \"answer\": N} with the number "
                              "of the right choice, counted from 0");
}

/* ---- texts ---- */

static cse_status bytes_of(const measuring *m, const int32_t *tokens, int64_t count, int64_t *bytes)
{
    cse_text text = { 0 };
    cse_status status = CSE_OK;
    for (int64_t i = 0; i < count && status == CSE_OK; i++)
        status = cse_text_codec_decode(m->codec, tokens[i], &text);
    *bytes = (int64_t)text.size;
    cse_text_clear(&text);
    return status;
}

static cse_status measure_tokens(measuring *m, const int32_t *tokens, int64_t count)
{
    int64_t bytes = 0;
    double sum;
    CSE_TRY(cse_log_likelihood_of_all(m->likelihoods, tokens, count, &sum));
    m->result->log_likelihood += sum;
    CSE_TRY(bytes_of(m, tokens + 1, count - 1, &bytes));
    m->result->texts++;
    m->result->tokens += count - 1;
    m->result->bytes += bytes;
    return CSE_OK;
}

static cse_status measure_text(measuring *m, const json_t *text)
{
    int32_t *tokens = NULL;
    int64_t count = 0;
    if (!json_is_string(text))
        return wrong(m, "\"text\" is no text");
    cse_status status = cse_text_codec_encode(m->codec, json_string_value(text),
                                              json_string_length(text), &tokens, &count);
    if (status == CSE_OK && count < 2)
        status = wrong(m, "the text has fewer than two tokens, of which the first is not scored");
    if (status == CSE_OK)
        status = measure_tokens(m, tokens, count);
    free(tokens);
    return status;
}

/* ---- choices ---- */

/* Tokens of `text`, the first of them that differ from those of `context` alone: of the choice. */
static cse_status score_choice(measuring *m, const char *context, const char *choice, double *sum)
{
    int32_t *before = NULL, *whole = NULL;
    int64_t before_count = 0, count = 0;
    cse_text text = { 0 };
    cse_text_add(&text, "%s%s", context, choice);
    cse_status status =
        cse_text_codec_encode(m->codec, context, strlen(context), &before, &before_count);
    if (status == CSE_OK)
        status = cse_text_codec_encode(m->codec, text.data, text.size, &whole, &count);
    if (status == CSE_OK && (before_count < 1 || count <= before_count))
        status = wrong(m, "the context, or a choice, has no token");
    if (status == CSE_OK && count - before_count >= cse_likelihoods_longest(m->likelihoods))
        status = wrong(m, "a choice is longer than the model's sequences");
    if (status == CSE_OK)
        status = cse_log_likelihood(m->likelihoods, whole, count, before_count, sum);
    free(before);
    free(whole);
    cse_text_clear(&text);
    return status;
}

static cse_status measure_choices(measuring *m, const json_t *item)
{
    const json_t *context = json_object_get(item, "context"),
                 *choices = json_object_get(item, "choices"),
                 *answer = json_object_get(item, "answer");
    const size_t count = json_array_size(choices);
    int64_t best = 0, best_by_length = 0;
    double most = -INFINITY, most_by_length = -INFINITY;
    if (!json_is_string(context) || count < 2 || count > MAX_CHOICES || !json_is_integer(answer) ||
        json_integer_value(answer) < 0 || json_integer_value(answer) >= (json_int_t)count)
        return wrong(m, "it is neither a text nor a question with 2 to 1024 choices");
    for (size_t i = 0; i < count; i++) {
        double sum;
        const json_t *choice = json_array_get(choices, i);
        if (!json_is_string(choice) || json_string_length(choice) == 0)
            return wrong(m, "a choice is no text");
        CSE_TRY(score_choice(m, json_string_value(context), json_string_value(choice), &sum));
        const double by_length = sum / (double)json_string_length(choice);
        if (sum > most) {
            most = sum;
            best = (int64_t)i;
        }
        if (by_length > most_by_length) {
            most_by_length = by_length;
            best_by_length = (int64_t)i;
        }
    }
    m->result->questions++;
    m->result->right += best == json_integer_value(answer);
    m->result->right_by_length += best_by_length == json_integer_value(answer);
    return CSE_OK;
}

/* ---- the file ---- */

static cse_status measure_row(measuring *m, const json_t *item)
{
    if (item == NULL)
        return wrong(m, m->rows.fault);
    const json_t *text = json_object_get(item, "text");
    return text != NULL ? measure_text(m, text) : measure_choices(m, item);
}

static cse_status measure_file(measuring *m, bool (*stop_requested)(void))
{
    json_t *row = NULL;
    cse_status status = CSE_OK;
    while (status == CSE_OK && cse_task_rows_next(&m->rows, &row)) {
        if (stop_requested != NULL && stop_requested())
            status = cse_fail(CSE_INTERRUPTED, "ended by a signal");
        else
            status = measure_row(m, row);
        json_decref(row);
    }
    if (status == CSE_OK && m->result->texts + m->result->questions == 0)
        status = cse_fail(CSE_DATA, "%s: the file has no row", m->rows.path);
    return status;
}

cse_status cse_language_task_run(cse_model *model, cse_text_codec *codec, const char *path,
                                 bool (*stop_requested)(void), cse_task_result *result)
{
    measuring m = { .codec = codec, .result = result };
    *result = (cse_task_result){ .texts = 0 };
    m.likelihoods = cse_likelihoods_new(model);
    cse_status status = cse_task_rows_open(path, &m.rows);
    if (status == CSE_OK)
        status = measure_file(&m, stop_requested);
    cse_task_rows_close(&m.rows);
    cse_likelihoods_destroy(&m.likelihoods);
    return status;
}

double cse_task_perplexity(const cse_task_result *result)
{
    return exp(-result->log_likelihood / (double)result->tokens);
}

double cse_task_bits_per_byte(const cse_task_result *result)
{
    return -result->log_likelihood / log(2.0) / (double)result->bytes;
}
