/* Origins grow with the text, where they are wanted at all. */
#include "dataloader/tokenizer/text/aligned_text.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/text/characters.h"
#include "engine/base/arena.h"

void cse_aligned_text_clear(cse_aligned_text *text)
{
    cse_text_clear(&text->text);
    free(text->origins);
    *text = (cse_aligned_text){ 0 };
}

static cse_origin *more_origins(cse_aligned_text *to, size_t count)
{
    const size_t needed = to->text.size + count + 1; /* never NULL, where they are wanted */
    if (needed > to->capacity) {
        to->capacity = needed * 2;
        to->origins = cse_realloc(to->origins, to->capacity * sizeof *to->origins);
    }
    return to->origins + to->text.size;
}

void cse_aligned_text_keep(cse_aligned_text *to, const cse_text_view *from, size_t begin,
                           size_t end)
{
    if (begin == end)
        return;
    if (from->origins != NULL)
        memcpy(more_origins(to, end - begin), from->origins + begin,
               (end - begin) * sizeof *from->origins);
    cse_text_add_bytes(&to->text, from->text + begin, end - begin);
}

void cse_aligned_text_put(cse_aligned_text *to, const cse_text_view *from, size_t at,
                          const char *bytes, size_t size)
{
    if (from->origins != NULL) {
        const size_t start = from->size > 0 ? from->origins[0].begin : 0;
        const cse_origin origin =
            at < from->size ? from->origins[at] : (cse_origin){ start, start };
        cse_origin *origins = more_origins(to, size);
        for (size_t i = 0; i < size; i++)
            origins[i] = origin;
    }
    cse_text_add_bytes(&to->text, bytes, size);
}

cse_text_view cse_aligned_text_view(cse_aligned_text *made, const cse_text_view *from)
{
    if (from->origins != NULL)
        more_origins(made, 1);
    return (cse_text_view){ made->text.size > 0 ? made->text.data : "", made->text.size,
                            from->origins != NULL ? made->origins : NULL };
}

void cse_aligned_text_begin(cse_aligned_text *to, const char *text, size_t size)
{
    to->text.size = 0;
    cse_origin *origins = more_origins(to, size + 1);
    for (size_t i = 0, length; i < size; i += length) {
        cse_character_at(text + i, &length);
        for (size_t j = 0; j < length; j++)
            origins[i + j] = (cse_origin){ i, i + length };
    }
    cse_text_add_bytes(&to->text, text, size);
}

void cse_aligned_text_transform(cse_aligned_text *to, const cse_text_view *from,
                                const cse_character_change *changes, size_t count)
{
    size_t at = 0; /* the next character of the text that it is made from */
    for (size_t i = 0; i < count; i++) {
        const cse_character_change *one = &changes[i];
        char bytes[4];
        const size_t size = cse_character_bytes(one->character, bytes);
        const size_t origin = one->change > 0 ? at - 1 : at; /* before the first one: none */
        cse_aligned_text_put(to, from, origin, bytes, size);
        for (int taken = one->change; taken <= 0 && at < from->size; taken++) {
            size_t length;
            cse_character_at(from->text + at, &length);
            at += length;
        }
    }
}
