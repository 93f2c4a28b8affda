/* A table of kinds. */
#include "dataloader/tokenizer/post_processor.h"

#include <stdio.h>
#include <stdlib.h>

#include "dataloader/tokenizer/text/characters.h"
#include "dataloader/tokenizer/text/json_members.h"

static cse_status read_list(cse_post_processor *p, const json_t *entry);

void cse_post_processor_clear(cse_post_processor *processor)
{
    cse_template_clear(&processor->one);
    cse_template_clear(&processor->pair);
    *processor = (cse_post_processor){ 0 };
}

/* ["text", id], as BERT and RoBERTa have it. */
static cse_status read_pair(const json_t *entry, const char *name, int32_t *id)
{
    const json_t *pair = json_object_get(entry, name), *number = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_string(json_array_get(pair, 0)) ||
        !json_is_integer(number) || json_integer_value(number) < 0 ||
        json_integer_value(number) >= CSE_VOCABULARY_MOST)
        return cse_fail(CSE_DATA, "post_processor: \"%s\" is not [text, id]", name);
    *id = (int32_t)json_integer_value(number);
    return CSE_OK;
}

static cse_status wrap(cse_post_processor *p, const json_t *entry, bool joins)
{
    int32_t edges[2];
    CSE_TRY(read_pair(entry, "cls", &edges[0]));
    CSE_TRY(read_pair(entry, "sep", &edges[1]));
    cse_template_wrap(&p->one, edges, joins);
    cse_template_wrap(&p->pair, edges, joins);
    return CSE_OK;
}

static cse_status read_bert(cse_post_processor *p, const json_t *entry)
{
    return wrap(p, entry, false);
}

static void read_trimming(cse_post_processor *p, const json_t *entry)
{
    p->trims += cse_json_is_on(entry, "trim_offsets", true);
    p->keeps_a_prefix_space |= cse_json_is_on(entry, "add_prefix_space", true);
}

static cse_status read_roberta(cse_post_processor *p, const json_t *entry)
{
    read_trimming(p, entry);
    return wrap(p, entry, true);
}

static cse_status read_byte_level(cse_post_processor *p, const json_t *entry)
{
    read_trimming(p, entry);
    return CSE_OK;
}

/* ---- templates ---- */

static cse_status put_specials(cse_template *made, const json_t *entry, const char *name,
                               int32_t type)
{
    size_t i;
    const json_t *special = json_object_get(json_object_get(entry, "special_tokens"), name), *id;
    const json_t *ids = json_object_get(special, "ids");
    if (!json_is_array(ids))
        return cse_fail(CSE_DATA,
                        "post_processor TemplateProcessing: \"%.60s\" is not among its "
                        "special_tokens",
                        name);
    json_array_foreach(ids, i, id)
    {
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= CSE_VOCABULARY_MOST)
            return cse_fail(CSE_DATA,
                            "post_processor TemplateProcessing: \"%.60s\" has an id that is no "
                            "token's",
                            name);
        cse_template_put(made, (int32_t)json_integer_value(id), type, i == 0);
    }
    return CSE_OK;
}

/* A part of the member `name`: a text of `from`, or special tokens. */
static cse_status put_part(cse_template *made, const cse_template *from, const json_t *entry,
                           const json_t *part)
{
    const json_t *special = json_object_get(part, "SpecialToken");
    const json_t *text = json_object_get(part, "Sequence");
    if (json_object_size(part) != 1 || (special == NULL && text == NULL))
        return cse_fail(CSE_DATA, "post_processor TemplateProcessing: a part is neither "
                                  "SpecialToken nor Sequence");
    CSE_TRY(cse_json_expect(special != NULL ? special : text,
                            "a part of post_processor TemplateProcessing", "id:s! type_id:i!"));
    const json_int_t type =
        json_integer_value(json_object_get(special ? special : text, "type_id"));
    if (type > INT32_MAX)
        return cse_fail(CSE_DATA,
                        "post_processor TemplateProcessing: type_id is %lld: accepted "
                        "are 0 to %d",
                        (long long)type, INT32_MAX);
    if (special != NULL)
        return put_specials(made, entry, cse_json_text(special, "id"), (int32_t)type);
    const char *id = cse_json_text(text, "id");
    if (strcmp(id, "A") != 0 && strcmp(id, "B") != 0)
        return cse_fail(CSE_DATA,
                        "post_processor TemplateProcessing: a Sequence has the id "
                        "\"%.60s\": accepted are A and B",
                        id);
    cse_template_put_encoding(made, from, *id == 'B', (int32_t)type);
    return CSE_OK;
}

static cse_status apply_template(cse_template *to, const json_t *entry, const char *name)
{
    size_t i;
    const json_t *part;
    cse_template made = { 0 };
    json_array_foreach(json_object_get(entry, name), i, part)
    {
        cse_status status = put_part(&made, to, entry, part);
        if (status != CSE_OK) {
            cse_template_clear(&made);
            return status;
        }
    }
    cse_template_clear(to);
    *to = made;
    return CSE_OK;
}

static cse_status read_templates(cse_post_processor *p, const json_t *entry)
{
    if (p->has_template)
        return cse_fail(CSE_DATA, "post_processor has a TemplateProcessing behind another one: "
                                  "accepted is one");
    p->has_template = true;
    CSE_TRY(apply_template(&p->one, entry, "single"));
    CSE_TRY(apply_template(&p->pair, entry, "pair"));
    if (!cse_template_is_whole(&p->one, false))
        return cse_fail(CSE_DATA, "post_processor TemplateProcessing: accepted in \"single\" is "
                                  "the Sequence A, once");
    return CSE_OK;
}

static cse_status read_sequence(cse_post_processor *p, const json_t *entry)
{
    size_t i;
    const json_t *part;
    json_array_foreach(json_object_get(entry, "processors"), i, part)
    {
        CSE_TRY(read_list(p, part));
    }
    return CSE_OK;
}

static const struct {
    const char *name, *members;
    cse_status (*read)(cse_post_processor *p, const json_t *entry);
} kinds[] = {
    /* clang-format off */
    { "ByteLevel", "add_prefix_space:b trim_offsets:b use_regex:b", read_byte_level },
    { "TemplateProcessing", "single:l! pair:l! special_tokens:o!", read_templates },
    { "RobertaProcessing", "sep:l! cls:l! trim_offsets:b! add_prefix_space:b!", read_roberta },
    { "BertProcessing", "sep:l! cls:l!", read_bert },
    { "Sequence", "processors:l!", read_sequence },
    /* clang-format on */
};

/* As deep as the brackets of the file, which have a limit. */
static cse_status read_list(cse_post_processor *p, const json_t *entry)
{
    char what[80];
    const int index = CSE_JSON_KIND(kinds, entry);
    if (index < 0)
        return cse_fail(CSE_DATA,
                        "post_processor is \"%.60s\": accepted are ByteLevel, "
                        "TemplateProcessing, RobertaProcessing, BertProcessing and Sequence",
                        cse_json_text(entry, "type"));
    snprintf(what, sizeof what, "post_processor %s", kinds[index].name);
    CSE_TRY(cse_json_expect(entry, what, kinds[index].members));
    return kinds[index].read(p, entry);
}

cse_status cse_post_processor_read(cse_post_processor *processor, const json_t *entry)
{
    cse_template_begin(&processor->one, false);
    cse_template_begin(&processor->pair, true);
    return entry == NULL || json_is_null(entry) ? CSE_OK : read_list(processor, entry);
}

/* ---- places ---- */

static bool is_space(uint32_t character)
{
    return character == 0x120 || cse_is_white_space(character); /* what stands for a space byte */
}

void cse_post_processor_count(const char *text, size_t size, bool is_bytes, uint32_t counts[2])
{
    size_t begin = 0, end = size, length = 1;
    counts[0] = counts[1] = 0;
    for (; begin < size &&
           (is_bytes ? text[begin] == ' ' : is_space(cse_character_at(text + begin, &length)));
         begin += length)
        counts[0]++;
    for (; end > 0 &&
           (is_bytes ? text[end - 1] == ' ' : is_space(cse_character_before(text, end, &length)));
         end -= length)
        counts[1]++;
}

void cse_post_processor_trim(const cse_post_processor *processor, const cse_vocabulary *vocabulary,
                             cse_token_ids *ids, size_t first)
{
    for (size_t i = first; processor->trims > 0 && i < ids->count; i++) {
        uint32_t spaces[2];
        cse_token_place *place = &ids->places[i];
        const cse_vocabulary_token *token = &vocabulary->tokens[ids->ids[i]];
        if (place->counts_spaces)
            memcpy(spaces, place->spaces, sizeof spaces);
        else
            cse_post_processor_count(token->bytes, token->size, token->is_bytes, spaces);
        if (spaces[0] == 1 && processor->keeps_a_prefix_space && (i == first || place->begin == 0))
            spaces[0] = 0;
        place->begin += spaces[0];
        if (place->begin > place->end)
            place->begin = place->end;
        if (spaces[1] > 0 && place->end >= spaces[1]) {
            const size_t end = place->end - spaces[1];
            place->end = end > place->begin ? end : place->begin;
        }
    }
}
