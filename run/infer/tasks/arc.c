/* The answer is one of the labels, which are letters or digits. */
#include "run/infer/tasks/arc.h"

#include <string.h>

#include "engine/base/error.h"

cse_status cse_arc_read(const json_t *row, cse_task_item *item)
{
    const char *question, *key;
    const json_t *choices = json_object_get(row, "choices");
    const json_t *texts = json_object_get(choices, "text");
    const json_t *labels = json_object_get(choices, "label");
    const size_t count = json_array_size(texts);
    CSE_TRY(cse_task_text(row, "question", &question));
    CSE_TRY(cse_task_text(row, "answerKey", &key));
    if (count < 1 || count > CSE_TASK_CHOICES || json_array_size(labels) != count)
        return cse_fail(CSE_DATA, "its member choices has no lists text and label of one length");
    cse_text_add(&item->query, "Question: %s\nAnswer:", question);
    item->answer = -1;
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(texts, i));
        const char *label = json_string_value(json_array_get(labels, i));
        if (text == NULL || label == NULL)
            return cse_fail(CSE_DATA, "an entry of its member choices is no text");
        cse_text_add(&item->choices[i], "%s", text);
        item->choice_count++;
        if (item->answer < 0 && strcmp(label, key) == 0)
            item->answer = (int)i;
    }
    return item->answer >= 0
               ? CSE_OK
               : cse_fail(CSE_DATA, "its member answerKey is none of the labels of choices");
}
