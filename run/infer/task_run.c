/* A row at a time; each choice is a pass of its own over the question and the choice. */
#include "run/infer/task_run.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/likelihood.h"
#include "run/infer/task_rows.h"

/* Rows that stand before a question, of one group. */
typedef struct examples {
    char group[CSE_TASK_GROUP_BYTES];
    int count;
    cse_text text;
} examples;

typedef struct measuring {
    const cse_task_order *order;
    cse_text_codec *codec;
    cse_likelihoods *likelihoods;
    cse_task_scores *scores;
    examples *examples;
    int example_groups;
    const cse_task_rows *rows; /* of the file that is read */
} measuring;

/* ---- lines ---- */

typedef cse_status take_item(measuring *m, const cse_task_item *item);

static cse_status wrong(const measuring *m, const char *what)
{
    char accepted[256];
    snprintf(accepted, sizeof accepted, "a row of %s has the members %s", m->order->task->name,
             m->order->task->members);
    return cse_task_rows_fail(m->rows, what, accepted);
}

static cse_status read_row(measuring *m, const json_t *row, take_item *take)
{
    cse_task_item item = { .answer = 0 };
    if (row == NULL)
        return wrong(m, m->rows->fault);
    cse_status status = m->order->task->read(row, &item);
    if (status != CSE_OK) {
        char *what = cse_strdup(cse_error_message());
        status = wrong(m, what);
        free(what);
    }
    if (status == CSE_OK && item.group.size >= CSE_TASK_GROUP_BYTES)
        status = wrong(m, "its subject is longer than 127 bytes");
    for (int i = 0; i < item.choice_count && status == CSE_OK; i++)
        if (item.choices[i].size == 0)
            status = wrong(m, "an answer is empty");
    if (status == CSE_OK)
        status = take(m, &item);
    cse_task_item_clear(&item);
    return status;
}

static cse_status read_file(measuring *m, const char *path, take_item *take)
{
    cse_task_rows rows;
    json_t *row = NULL;
    cse_status status = cse_task_rows_open(path, &rows);
    m->rows = &rows;
    while (status == CSE_OK && cse_task_rows_next(&rows, &row)) {
        if (m->order->stop_requested != NULL && m->order->stop_requested())
            status = cse_fail(CSE_INTERRUPTED, "ended by a signal");
        else
            status = read_row(m, row, take);
        json_decref(row);
    }
    if (status == CSE_OK && ferror(rows.file))
        status = cse_fail(CSE_IO, "%s: cannot be read: %s", path, strerror(errno));
    cse_task_rows_close(&rows);
    m->rows = NULL;
    return status;
}

/* ---- examples ---- */

static const char *group_of(const cse_task_item *item)
{
    return item->group.size > 0 ? item->group.data : "";
}

static examples *examples_of(measuring *m, const char *group, bool make)
{
    for (int i = 0; i < m->example_groups; i++)
        if (strcmp(m->examples[i].group, group) == 0)
            return &m->examples[i];
    if (!make || m->example_groups == CSE_TASK_GROUPS)
        return NULL;
    examples *one = &m->examples[m->example_groups++];
    snprintf(one->group, sizeof one->group, "%s", group);
    return one;
}

/* The answer of one text begins with a blank, to which the delimiter comes: as the harness. */
static cse_status take_example(measuring *m, const cse_task_item *item)
{
    examples *of = examples_of(m, group_of(item), true);
    if (of == NULL)
        return wrong(m, "there are more than 1024 groups");
    if (of->count >= m->order->num_fewshot)
        return CSE_OK;
    of->count++;
    cse_text_add_bytes(&of->text, item->query.data, item->query.size);
    cse_text_add(&of->text, m->order->task->one_text ? "  " : " ");
    cse_text_add_bytes(&of->text, item->choices[item->answer].data,
                       item->choices[item->answer].size);
    cse_text_add(&of->text, "\n\n");
    return CSE_OK;
}

/* ---- questions ---- */

static cse_status add_context(measuring *m, const cse_task_item *item, cse_text *context)
{
    const examples *before =
        m->order->num_fewshot > 0 ? examples_of(m, group_of(item), false) : NULL;
    cse_text_add(context, "%s", "");
    if (m->order->task->describe != NULL)
        m->order->task->describe(item, context);
    if (m->order->num_fewshot > 0 && (before == NULL || before->count < m->order->num_fewshot))
        return cse_fail(CSE_DATA, "%s: has %d rows%s%s, but num_fewshot is %d", m->order->examples,
                        before != NULL ? before->count : 0,
                        item->group.size > 0 ? " of the subject " : "", group_of(item),
                        m->order->num_fewshot);
    if (before != NULL)
        cse_text_add_bytes(context, before->text.data, before->text.size);
    cse_text_add_bytes(context, item->query.data, item->query.size);
    return CSE_OK;
}

/* Blanks at the end of the context are of the answer; what the context's own tokens leave of those
 * of both are the answer's tokens. */
static cse_status score_answer(measuring *m, const cse_text *context, const cse_text *choice,
                               cse_continuation_score *score)
{
    int32_t *before = NULL, *whole = NULL;
    int64_t before_count = 0, count = 0;
    cse_text text = { 0 };
    size_t size = context->size;
    while (size > 0 && strchr(" \t\n\r\f\v", context->data[size - 1]) != NULL)
        size--;
    cse_text_add_bytes(&text, context->data, context->size);
    cse_text_add(&text, " ");
    cse_text_add_bytes(&text, choice->data, choice->size);
    cse_status status =
        cse_text_codec_encode_whole(m->codec, text.data, size, &before, &before_count);
    if (status == CSE_OK)
        status = cse_text_codec_encode_whole(m->codec, text.data, text.size, &whole, &count);
    if (status == CSE_OK && (before_count < 1 || count <= before_count))
        status = wrong(m, "the question or an answer has no token of its own");
    if (status == CSE_OK)
        status = cse_continuation_likelihood(m->likelihoods, whole, count, before_count, score);
    free(before);
    free(whole);
    cse_text_clear(&text);
    return status;
}

static int64_t characters(const cse_text *text)
{
    int64_t count = 0;
    for (size_t i = 0; i < text->size; i++)
        count += (text->data[i] & 0xC0) != 0x80;
    return count;
}

/* The first of the largest. */
static int largest(const double *values, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (values[i] > values[best])
            best = i;
    return best;
}

static cse_task_score *group_score(measuring *m, const char *group)
{
    cse_task_scores *s = m->scores;
    for (int i = 0; i < s->group_count; i++)
        if (strcmp(s->groups[i].group, group) == 0)
            return &s->groups[i];
    if (s->group_count == CSE_TASK_GROUPS)
        return NULL;
    cse_task_score *one = &s->groups[s->group_count++];
    snprintf(one->group, sizeof one->group, "%s", group);
    return one;
}

static void count_answer(cse_task_score *to, const cse_task_item *item,
                         const cse_continuation_score *scores)
{
    double sums[CSE_TASK_CHOICES], by_text[CSE_TASK_CHOICES], by_bytes[CSE_TASK_CHOICES];
    const int count = item->choice_count;
    for (int i = 0; i < count; i++) {
        sums[i] = scores[i].log_likelihood;
        by_text[i] = sums[i] / (double)characters(&item->choices[i]);
        by_bytes[i] = sums[i] / (double)item->choices[i].size;
    }
    to->questions++;
    to->log_likelihood += sums[item->answer];
    to->right += count == 1 ? scores[0].greedy : largest(sums, count) == item->answer;
    to->right_by_text += largest(by_text, count) == item->answer;
    to->right_by_bytes += largest(by_bytes, count) == item->answer;
}

static cse_status take_question(measuring *m, const cse_task_item *item)
{
    cse_continuation_score scores[CSE_TASK_CHOICES];
    cse_text context = { 0 };
    cse_status status = add_context(m, item, &context);
    for (int i = 0; i < item->choice_count && status == CSE_OK; i++)
        status = score_answer(m, &context, &item->choices[i], &scores[i]);
    cse_text_clear(&context);
    if (status != CSE_OK)
        return status;
    count_answer(&m->scores->whole, item, scores);
    if (item->group.size == 0)
        return CSE_OK;
    cse_task_score *group = group_score(m, item->group.data);
    if (group == NULL)
        return wrong(m, "there are more than 1024 groups");
    count_answer(group, item, scores);
    return CSE_OK;
}

cse_status cse_task_run(cse_model *model, cse_text_codec *codec, const cse_task_order *order,
                        cse_task_scores *scores)
{
    *scores = (cse_task_scores){ .group_count = 0 };
    scores->groups = cse_calloc(CSE_TASK_GROUPS, sizeof *scores->groups);
    measuring m = { .order = order, .codec = codec, .scores = scores };
    m.examples = cse_calloc(CSE_TASK_GROUPS, sizeof *m.examples);
    m.likelihoods = cse_likelihoods_new(model);
    cse_status status = CSE_OK;
    if (order->num_fewshot > 0)
        status = read_file(&m, order->examples, take_example);
    if (status == CSE_OK)
        status = read_file(&m, order->path, take_question);
    if (status == CSE_OK && scores->whole.questions == 0)
        status = cse_fail(CSE_DATA, "%s: the file has no row", order->path);
    cse_likelihoods_destroy(&m.likelihoods);
    for (int i = 0; i < m.example_groups; i++)
        cse_text_clear(&m.examples[i].text);
    free(m.examples);
    return status;
}
