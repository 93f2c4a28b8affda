/* Rows come ordered by step. */
#include "run/travel/run_chain.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "run/session/step_chain.h"

static bool take_bytes(const cse_field *field, void *to, size_t size)
{
    if (field->text == NULL || field->size != size)
        return false;
    memcpy(to, field->text, size);
    return true;
}

static void take_step(void *self, const cse_row *row)
{
    cse_run_chain *chain = self;
    cse_chain_step step = { .steps = row->fields[0].integer };
    if (!take_bytes(&row->fields[2], step.states, sizeof step.states) ||
        !take_bytes(&row->fields[3], step.samples, sizeof step.samples) ||
        !take_bytes(&row->fields[4], step.chain, sizeof step.chain))
        return;
    CSE_GROW(chain->steps, chain->count, chain->capacity);
    chain->steps[chain->count++] = step;
}

static void take_links(void *self, const cse_row *row)
{
    cse_run_chain *chain = self;
    cse_run_links links = { .step = row->fields[0].integer };
    if (!take_bytes(&row->fields[2], links.before, sizeof links.before) ||
        row->fields[3].text == NULL)
        return;
    links.text = cse_strdup(row->fields[3].text);
    CSE_GROW(chain->links, chain->link_count, chain->link_capacity);
    chain->links[chain->link_count++] = links;
}

cse_status cse_run_chain_read(const char *model_dir, int64_t first, int64_t last,
                              cse_run_chain *chain)
{
    cse_store_reader *reader = NULL;
    const cse_store_query steps = { .limit = INT64_MAX, .first_step = first, .last_step = last };
    const cse_store_query all = { .limit = INT64_MAX };
    *chain = (cse_run_chain){ .count = 0 };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status status = cse_store_reader_rows(reader, CSE_ROW_CHAIN, &steps, take_step, chain);
    if (status == CSE_OK)
        status = cse_store_reader_rows(reader, CSE_ROW_CHAIN_LINKS, &all, take_links, chain);
    cse_store_reader_close(&reader);
    return status;
}

void cse_run_chain_clear(cse_run_chain *chain)
{
    for (int i = 0; i < chain->link_count; i++)
        free(chain->links[i].text);
    free(chain->links);
    free(chain->steps);
    *chain = (cse_run_chain){ .count = 0 };
}

const cse_chain_step *cse_run_chain_at(const cse_run_chain *chain, int64_t step)
{
    int64_t low = 0, high = chain->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (chain->steps[middle].steps < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < chain->count && chain->steps[low].steps == step ? &chain->steps[low] : NULL;
}

bool cse_run_chain_holds(const cse_run_chain *chain, int64_t *first)
{
    int next = 0;
    for (int64_t i = 0; i < chain->count; i++) {
        cse_chain_step step = chain->steps[i];
        while (next < chain->link_count && chain->links[next].step <= step.steps)
            next++;
        *first = step.steps;
        if (next == 0)
            return false;
        const cse_run_links *links = &chain->links[next - 1];
        const bool begins = links->step == step.steps;
        const bool follows = i > 0 && chain->steps[i - 1].steps + 1 == step.steps;
        if (!begins && !follows)
            return false;
        memcpy(step.before, follows ? chain->steps[i - 1].chain : links->before, CSE_CHAIN_BYTES);
        step.links = links->text;
        if (begins && follows && memcmp(links->before, step.before, CSE_CHAIN_BYTES) != 0)
            return false;
        cse_step_chain_join(&step);
        if (memcmp(step.chain, chain->steps[i].chain, CSE_CHAIN_BYTES) != 0)
            return false;
    }
    *first = 0;
    return true;
}

bool cse_chain_steps_equal(const cse_chain_step *a, const cse_chain_step *b)
{
    return memcmp(a->states, b->states, sizeof a->states) == 0 &&
           memcmp(a->samples, b->samples, sizeof a->samples) == 0;
}

int64_t cse_run_chain_differs(const cse_run_chain *a, const cse_run_chain *b, int64_t *common)
{
    *common = 0;
    for (int64_t i = 0, j = 0; i < a->count && j < b->count;) {
        const cse_chain_step *x = &a->steps[i], *y = &b->steps[j];
        if (x->steps == y->steps) {
            ++*common;
            if (!cse_chain_steps_equal(x, y))
                return x->steps;
        }
        i += x->steps <= y->steps;
        j += y->steps <= x->steps;
    }
    return 0;
}
