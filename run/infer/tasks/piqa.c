/* PIQA (Bisk et al. 2020): which of two solutions leads to a goal. */
#include "run/infer/tasks/language_task.h"

static cse_status read_row(const json_t *row, cse_task_item *item)
{
    static const char *const names[] = { "sol1", "sol2" };
    const char *goal, *solution;
    CSE_TRY(cse_task_text(row, "goal", &goal));
    cse_text_add(&item->query, "Question: %s\nAnswer:", goal);
    for (item->choice_count = 0; item->choice_count < 2; item->choice_count++) {
        CSE_TRY(cse_task_text(row, names[item->choice_count], &solution));
        cse_text_add(&item->choices[item->choice_count], "%s", solution);
    }
    return cse_task_integer(row, "label", 2, &item->answer);
}

const cse_language_task cse_task_piqa = {
    .name = "piqa",
    .summary = "which of two solutions leads to a goal",
    .members = "goal, sol1, sol2, label",
    .read = read_row,
    .by_bytes = true,
};
