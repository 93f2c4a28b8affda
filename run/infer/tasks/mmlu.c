/* MMLU (Hendrycks et al. 2021): questions of many subjects, answered by a letter. */
#include <string.h>

#include "engine/base/error.h"
#include "run/infer/tasks/language_task.h"

enum { LETTERS = 4 };

static cse_status read_row(const json_t *row, cse_task_item *item)
{
    const char *question, *subject = json_string_value(json_object_get(row, "subject"));
    const json_t *choices = json_object_get(row, "choices");
    CSE_TRY(cse_task_text(row, "question", &question));
    if (json_array_size(choices) != LETTERS)
        return cse_fail(CSE_DATA, "its member choices is no list of %d texts", LETTERS);
    cse_text_add(&item->group, "%s", subject != NULL ? subject : "");
    cse_task_add_stripped(&item->query, question);
    for (int i = 0; i < LETTERS; i++) {
        const char *choice = json_string_value(json_array_get(choices, (size_t)i));
        if (choice == NULL)
            return cse_fail(CSE_DATA, "an entry of its member choices is no text");
        cse_text_add(&item->query, "\n%c. %s", 'A' + i, choice);
        cse_text_add(&item->choices[i], "%c", 'A' + i);
    }
    cse_text_add(&item->query, "\nAnswer:");
    item->choice_count = LETTERS;
    return cse_task_integer(row, "answer", LETTERS, &item->answer);
}

static void describe(const cse_task_item *item, cse_text *text)
{
    if (item->group.size == 0)
        return;
    cse_text_add(text, "The following are multiple choice questions (with answers) about ");
    for (size_t i = 0; i < item->group.size; i++)
        cse_text_add(text, "%c", item->group.data[i] == '_' ? ' ' : item->group.data[i]);
    cse_text_add(text, ".\n\n");
}

const cse_language_task cse_task_mmlu = {
    .name = "mmlu",
    .summary = "questions of many subjects, answered by a letter",
    .members = "question, subject, choices, answer",
    .read = read_row,
    .describe = describe,
};
