/* HellaSwag (Zellers et al. 2019): which of four endings follows. Its texts have artefacts of the
 * pages that they come from, which are taken out. */
#include <ctype.h>
#include <string.h>

#include "dataloader/tokenizer/text/character_sets.h"
#include "engine/base/error.h"
#include "run/infer/tasks/language_task.h"

enum { MOST_LETTER = 0x2C00 }; /* of alphabets with large and small letters, nearly all */

static void replace_all(cse_text *text, const char *from, const char *to)
{
    cse_text result = { 0 };
    const char *at = text->data, *next;
    cse_text_add(&result, "%s", "");
    while ((next = strstr(at, from)) != NULL) {
        cse_text_add_bytes(&result, at, (size_t)(next - at));
        cse_text_add(&result, "%s", to);
        at = next + strlen(from);
    }
    cse_text_add(&result, "%s", at);
    cse_text_clear(text);
    *text = result;
}

/* Each "[" with what follows up to the next "]" of its line. */
static void take_out_brackets(cse_text *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < text->size; i++) {
        const char *open = text->data + i;
        const size_t inside = *open == '[' ? strcspn(open, "]\n") : 0;
        if (*open == '[' && open[inside] == ']')
            i += inside;
        else
            text->data[kept++] = *open;
    }
    text->data[kept] = '\0';
    text->size = kept;
}

static void add_clean(cse_text *to, const char *from)
{
    cse_text text = { 0 };
    cse_text_add(&text, "%s", "");
    cse_task_add_stripped(&text, from);
    replace_all(&text, " [title]", ". ");
    take_out_brackets(&text);
    replace_all(&text, "  ", " ");
    cse_text_add(to, "%s", text.data);
    cse_text_clear(&text);
}

/* The first letter of which this is the small one; else the character itself. */
static uint32_t large_of(uint32_t character)
{
    if (character < 0x80)
        return (uint32_t)toupper((int)character);
    for (uint32_t large = 0x80; large < MOST_LETTER; large++)
        if (large != character && cse_lower_case(large) == character)
            return large;
    return character;
}

static void add_character(cse_text *text, uint32_t c)
{
    if (c < 0x80)
        cse_text_add(text, "%c", (int)c);
    else if (c < 0x800)
        cse_text_add(text, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 0x3F)));
    else if (c < 0x10000)
        cse_text_add(text, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3F)),
                     (int)(0x80 | (c & 0x3F)));
    else
        cse_text_add(text, "%c%c%c%c", (int)(0xF0 | c >> 18), (int)(0x80 | (c >> 12 & 0x3F)),
                     (int)(0x80 | (c >> 6 & 0x3F)), (int)(0x80 | (c & 0x3F)));
}

/* As Python's capitalize: the first letter large, all others small. JSON's texts are UTF-8. */
static void add_capitalized(cse_text *text, const char *from)
{
    const size_t size = strlen(from);
    for (size_t i = 0, length; i < size; i += length) {
        length = cse_utf8_length(from + i, size - i);
        const uint32_t c = cse_utf8_code_point(from + i, length);
        add_character(text, i == 0 ? large_of(c) : cse_lower_case(c));
    }
}

static cse_status read_row(const json_t *row, cse_task_item *item)
{
    const char *activity, *first, *second;
    const json_t *endings = json_object_get(row, "endings");
    const size_t count = json_array_size(endings);
    cse_text whole = { 0 };
    CSE_TRY(cse_task_text(row, "activity_label", &activity));
    CSE_TRY(cse_task_text(row, "ctx_a", &first));
    CSE_TRY(cse_task_text(row, "ctx_b", &second));
    if (count < 1 || count > CSE_TASK_CHOICES)
        return cse_fail(CSE_DATA, "its member endings is no list of texts");
    cse_text_add(&whole, "%s: %s ", activity, first);
    add_capitalized(&whole, second);
    add_clean(&item->query, whole.data);
    cse_text_clear(&whole);
    for (size_t i = 0; i < count; i++) {
        const char *ending = json_string_value(json_array_get(endings, i));
        if (ending == NULL)
            return cse_fail(CSE_DATA, "an entry of its member endings is no text");
        add_clean(&item->choices[item->choice_count++], ending);
    }
    return cse_task_integer(row, "label", item->choice_count, &item->answer);
}

const cse_language_task cse_task_hellaswag = {
    .name = "hellaswag",
    .summary = "which of four endings follows",
    .members = "activity_label, ctx_a, ctx_b, endings, label",
    .read = read_row,
    .by_bytes = true,
};
