/* What the tasks share. */
#include "run/infer/tasks/language_task.h"

#include <string.h>

#include "engine/base/error.h"

static const char blanks[] = " \t\n\r\f\v";

void cse_task_item_clear(cse_task_item *item)
{
    cse_text_clear(&item->query);
    cse_text_clear(&item->group);
    for (int i = 0; i < CSE_TASK_CHOICES; i++)
        cse_text_clear(&item->choices[i]);
    *item = (cse_task_item){ .answer = 0 };
}

const cse_language_task *cse_language_task_named(const char *name)
{
    for (int i = 0; cse_language_tasks[i] != NULL; i++)
        if (strcmp(cse_language_tasks[i]->name, name) == 0)
            return cse_language_tasks[i];
    return NULL;
}

const char *cse_language_task_names(void)
{
    static char names[512];
    size_t size = 0;
    for (int i = 0; cse_language_tasks[i] != NULL && size < sizeof names; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", i > 0 ? ", " : "",
                                 cse_language_tasks[i]->name);
    return names;
}

cse_status cse_task_text(const json_t *row, const char *name, const char **text)
{
    *text = json_string_value(json_object_get(row, name));
    return *text != NULL ? CSE_OK : cse_fail(CSE_DATA, "its member %s is no text", name);
}

cse_status cse_task_integer(const json_t *row, const char *name, int count, int *value)
{
    const json_t *member = json_object_get(row, name);
    const char *digits = json_string_value(member);
    json_int_t number = json_is_integer(member) ? json_integer_value(member) : -1;
    if (digits != NULL && digits[0] >= '0' && digits[0] <= '9' && digits[1] == '\0')
        number = digits[0] - '0';
    *value = (int)number;
    return number >= 0 && number < count
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "its member %s is no number of a choice, 0 to %d (rows of a test "
                          "without answers are not measured)",
                          name, count - 1);
}

void cse_task_add_stripped(cse_text *text, const char *from)
{
    from += strspn(from, blanks);
    size_t size = strlen(from);
    while (size > 0 && strchr(blanks, from[size - 1]) != NULL)
        size--;
    cse_text_add_bytes(text, from, size);
}
