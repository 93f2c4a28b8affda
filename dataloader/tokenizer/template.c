/* A changed template is built anew and takes the place of the old one. */
#include "dataloader/tokenizer/template.h"

#include <stdlib.h>

#include "engine/base/arena.h"

void cse_template_clear(cse_template *made)
{
    free(made->parts);
    *made = (cse_template){ 0 };
}

void cse_template_put(cse_template *made, int32_t id, int32_t type, bool is_new)
{
    made->encodings += is_new;
    CSE_GROW(made->parts, made->count, made->capacity);
    made->parts[made->count++] =
        (cse_template_part){ .id = id, .type = type, .encoding = made->encodings - 1 };
}

void cse_template_begin(cse_template *made, bool is_pair)
{
    cse_template_clear(made);
    cse_template_put(made, CSE_FIRST_TEXT, 0, true);
    if (is_pair)
        cse_template_put(made, CSE_SECOND_TEXT, 1, true);
}

void cse_template_put_encoding(cse_template *made, const cse_template *from, int number,
                               int32_t type)
{
    bool is_new = true;
    for (int i = 0; i < from->count; i++)
        if (from->parts[i].encoding == number) {
            cse_template_put(made, from->parts[i].id, type, is_new);
            is_new = false;
        }
}

void cse_template_wrap(cse_template *made, const int32_t edges[2], bool joins)
{
    cse_template wrapped = { 0 };
    for (int i = 0; i < made->count; i++) {
        const cse_template_part *part = &made->parts[i];
        const bool begins = i == 0 || part[-1].encoding != part->encoding;
        const bool ends = i + 1 == made->count || part[1].encoding != part->encoding;
        const bool has_edge = part->encoding == 0 || joins;
        if (begins && has_edge)
            cse_template_put(&wrapped, edges[part->encoding > 0], 0, true);
        cse_template_put(&wrapped, part->id, joins ? 0 : part->type, begins && !has_edge);
        if (ends)
            cse_template_put(&wrapped, edges[1], part->encoding > 0 && !joins, false);
    }
    cse_template_clear(made);
    *made = wrapped;
}

int cse_template_specials(const cse_template *made)
{
    int count = 0;
    for (int i = 0; i < made->count; i++)
        count += made->parts[i].id >= 0;
    return count;
}

bool cse_template_is_whole(const cse_template *made, bool is_pair)
{
    int texts[2] = { 0, 0 };
    for (int i = 0; i < made->count; i++)
        if (made->parts[i].id < 0)
            texts[made->parts[i].id == CSE_SECOND_TEXT]++;
    return texts[0] == 1 && texts[1] == is_pair;
}
