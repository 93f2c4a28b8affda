/* A prompt is read by a pass of its own, during which the others wait: so there is one between two
 * tokens, and not as many as come. Texts of the same prompt begin together, and it is read once.
 *
 * Models whose keys and values are not in pages write one text at a time. */
#include "run/infer/completion_group.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

typedef struct member {
    cse_completion *completion;
    void (*done)(void *self);
    void *self;
    struct member *next;
} member;

struct cse_completion_group {
    cse_text_model *model;
    int texts; /* at a time; 1: of a decoder that is made for each */
    cse_texts_together *together;
    cse_generation *generation; /* that `together` writes with */
    member *first;              /* in the order in which they came */
};

cse_completion_group *cse_completion_group_new(cse_text_model *model, int texts)
{
    cse_completion_group *group = cse_calloc(1, sizeof *group);
    group->model = model;
    group->texts = texts < CSE_MOST_TOGETHER ? texts : CSE_MOST_TOGETHER;
    return group;
}

static void remove_member(member **place)
{
    member *old = *place;
    *place = old->next;
    cse_completion_destroy(&old->completion);
    free(old);
}

void cse_completion_group_destroy(cse_completion_group **group)
{
    cse_completion_group *old = *group;
    *group = NULL;
    if (old == NULL)
        return;
    cse_texts_together_destroy(&old->together);
    while (old->first != NULL)
        remove_member(&old->first);
    free(old);
}

void cse_completion_group_add(cse_completion_group *group, const cse_completion_call *call,
                              const cse_completion_sink *sink, void (*done)(void *self))
{
    member *added = cse_calloc(1, sizeof *added), **last = &group->first;
    *added = (member){ .completion = cse_completion_new(group->model, call, sink),
                       .done = done,
                       .self = sink->self };
    while (*last != NULL)
        last = &(*last)->next;
    *last = added;
}

/* ---- beginning texts ---- */

/* A decoder for the text; one at hand that is used by others is left alone. */
static cse_status fit(cse_completion_group *group, const cse_text_model_need *need)
{
    cse_text_model *model = group->model;
    if (group->texts > 1 && group->together == NULL) {
        CSE_TRY(cse_text_model_open_together(model, group->texts));
        group->texts = (int)cse_generation_sequences(model->generation);
        if (group->texts > 1)
            group->together = cse_texts_together_new(model->generation);
    }
    if (group->texts > 1 ||
        (group->together != NULL && cse_texts_together_count(group->together) > 0))
        return CSE_OK;
    CSE_TRY(cse_text_model_fit(model, need));
    cse_texts_together_destroy(&group->together);
    group->together = cse_texts_together_new(model->generation);
    return CSE_OK;
}

/* The one whose turn it is; NULL: none has a text that has not begun. */
static cse_completion *next_completion(const cse_completion_group *group)
{
    cse_completion *chosen = NULL;
    cse_text_model_need need;
    for (member *m = group->first; m != NULL; m = m->next)
        if (cse_completion_next(m->completion, &need) &&
            (chosen == NULL ||
             cse_completion_under_way(m->completion) < cse_completion_under_way(chosen)))
            chosen = m->completion;
    return chosen;
}

/* No text is under way any more. */
static void give_up(cse_completion_group *group)
{
    cse_texts_together_destroy(&group->together);
    for (member *m = group->first; m != NULL; m = m->next)
        if (cse_completion_under_way(m->completion) > 0)
            cse_completion_give_up(m->completion, true);
    cse_generation_destroy(&group->model->generation);
}

/* Whether another text has its turn at once. */
static bool begin_texts(cse_completion_group *group)
{
    const int32_t *prompt = NULL;
    cse_completion *completion = next_completion(group), *chosen = completion;
    bool begun = true;
    while (begun && completion != NULL && completion == chosen) {
        cse_text_model_need need;
        begun = false;
        if (!cse_completion_next(completion, &need) || (prompt != NULL && need.prompt != prompt))
            return true;
        prompt = need.prompt;
        cse_status status = fit(group, &need);
        if (status == CSE_OK)
            status = cse_completion_begin(completion, group->together, &begun);
        if (status != CSE_OK)
            cse_completion_give_up(completion, false);
        if (status == CSE_IO) { /* its weights are lost: the next text has other ones */
            give_up(group);
            return true;
        }
        begun = begun || status != CSE_OK;
        completion = next_completion(group);
    }
    return begun && completion != NULL;
}

/* ---- a pass ---- */

static void remove_those_over(cse_completion_group *group)
{
    for (member **place = &group->first; *place != NULL;) {
        member *m = *place;
        if (!cse_completion_is_over(m->completion)) {
            place = &m->next;
            continue;
        }
        void (*done)(void *self) = m->done;
        void *self = m->self;
        remove_member(place);
        done(self);
    }
}

cse_completion_work cse_completion_group_work(cse_completion_group *group)
{
    bool waits = false;
    const bool more = begin_texts(group);
    if (group->together != NULL && cse_texts_together_count(group->together) > 0 &&
        cse_texts_together_step(group->together, &waits) != CSE_OK)
        give_up(group);
    remove_those_over(group);
    return group->first == NULL ? CSE_COMPLETIONS_OVER
           : waits && !more     ? CSE_COMPLETIONS_REST
                                : CSE_COMPLETIONS_GO_ON;
}
