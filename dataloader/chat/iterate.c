/* What a loop sees of a value, and how many that is. */
#include "dataloader/chat/characters.h"
#include "dataloader/chat/run.h"

static cse_status characters_of(cse_jinja_run *run, const cse_jinja_value *text,
                                cse_jinja_list *list)
{
    const char *bytes = text->text.bytes;
    CSE_TRY(cse_jinja_step(run, text->text.length / 4));
    for (size_t at = 0, length; at < text->text.length; at += length) {
        cse_character_next(bytes + at, text->text.length - at, &length);
        cse_jinja_list_add(run->arena, list, cse_jinja_text(bytes + at, length));
        CSE_TRY(cse_jinja_step(run, 0)); /* a value takes more memory than a character */
    }
    return CSE_OK;
}

cse_status cse_jinja_iterate(cse_jinja_run *run, const cse_jinja_value *value,
                             cse_jinja_list **list)
{
    *list = cse_jinja_list_new(run->arena, CSE_JINJA_LIST, 0).list;
    if (value->kind == CSE_JINJA_GENERATOR) {
        **list = *value->list;
        value->list->count = 0;
    } else if (cse_jinja_is_list(value))
        *list = value->list;
    else if (value->kind == CSE_JINJA_TEXT)
        return characters_of(run, value, *list);
    else if (value->kind == CSE_JINJA_DICT) {
        CSE_TRY(cse_jinja_step(run, value->dict->count));
        for (size_t i = 0; i < value->dict->count; i++)
            cse_jinja_list_add(run->arena, *list, value->dict->keys[i]);
    } else if (value->kind != CSE_JINJA_UNDEFINED)
        return cse_jinja_refuse(run, "a %s has no values to go through",
                                cse_jinja_kind_name(value));
    return CSE_OK;
}

cse_status cse_jinja_length(cse_jinja_run *run, const cse_jinja_value *value, int64_t *length)
{
    if (cse_jinja_is_list(value) && value->kind != CSE_JINJA_GENERATOR)
        *length = (int64_t)value->list->count;
    else if (value->kind == CSE_JINJA_DICT)
        *length = (int64_t)value->dict->count;
    else if (value->kind == CSE_JINJA_LOOP)
        *length = (int64_t)value->loop->list->count;
    else if (value->kind == CSE_JINJA_TEXT)
        *length = (int64_t)cse_characters_count(value->text.bytes, value->text.length);
    else if (value->kind == CSE_JINJA_UNDEFINED)
        *length = 0;
    else
        return cse_jinja_refuse(run, "a %s has no length", cse_jinja_kind_name(value));
    return CSE_OK;
}
