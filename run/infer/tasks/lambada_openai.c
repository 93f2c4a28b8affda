/* LAMBADA (Paperno et al. 2016), as OpenAI cut it: the last word of a passage. */
#include <string.h>

#include "engine/base/error.h"
#include "run/infer/tasks/language_task.h"

static cse_status read_row(const json_t *row, cse_task_item *item)
{
    const char *text;
    CSE_TRY(cse_task_text(row, "text", &text));
    const char *last = strrchr(text, ' ');
    if (last == NULL || last == text)
        return cse_fail(CSE_DATA, "its member text has no blank before a last word");
    cse_text_add_bytes(&item->query, text, (size_t)(last - text));
    cse_text_add(&item->choices[0], "%s", last + 1);
    item->choice_count = 1;
    return CSE_OK;
}

const cse_language_task cse_task_lambada_openai = {
    .name = "lambada_openai",
    .summary = "the last word of a passage",
    .members = "text",
    .read = read_row,
    .one_text = true,
};
