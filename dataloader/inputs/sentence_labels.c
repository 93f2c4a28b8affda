/* In tables, several stand in one field: [1, 4], 1|4 or good;new. */
#include "dataloader/inputs/sentence_labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/formats/json_line.h"
#include "dataloader/inputs/token_streams.h"

void cse_sentence_labels_describe(const cse_sentence_labels *self, cse_stream *stream)
{
    if (self->kind == CSE_LABEL_CLASS)
        return;
    stream->dtype = CSE_FLOAT32;
    if (self->kind == CSE_LABEL_CLASSES || self->count > 1)
        stream->shape = (cse_shape){ .rank = 1, .dims = { self->count } };
}

static float *numbers_at(const cse_sentence_labels *self, void *labels, int64_t place)
{
    return (float *)labels + place * self->count;
}

void cse_sentence_labels_put_none(const cse_sentence_labels *self, void *labels, int64_t place)
{
    if (self->kind == CSE_LABEL_CLASS) {
        ((int32_t *)labels)[place] = CSE_IGNORED_LABEL;
        return;
    }
    for (int64_t i = 0; i < self->count; i++)
        numbers_at(self, labels, place)[i] = NAN;
}

/* ---- a class, and several ---- */

static cse_status put_class(const cse_sentence_labels *self, int64_t number, void *labels,
                            int64_t place)
{
    const int64_t most = self->kind == CSE_LABEL_CLASSES ? self->count - 1
                         : self->class_count > 0         ? self->class_count - 1
                                                         : INT32_MAX;
    if (number < 0 || number > most)
        return cse_fail(CSE_DATA, "the class %" PRId64 " is not from 0 to %" PRId64, number, most);
    if (self->kind == CSE_LABEL_CLASSES)
        numbers_at(self, labels, place)[number] = 1;
    else
        ((int32_t *)labels)[place] = (int32_t)number;
    return CSE_OK;
}

static cse_status put_word(const cse_sentence_labels *self, const char *text, void *labels,
                           int64_t place)
{
    char *end;
    for (int i = 0; i < self->class_count; i++)
        if (strcmp(self->classes[i], text) == 0)
            return put_class(self, i, labels, place);
    const long number = strtol(text, &end, 10);
    if (self->class_count > 0 || end == text || *end != '\0')
        return cse_fail(
            CSE_DATA, "%s is \"%.40s\", which is no class; accepted are %s", self->name, text,
            self->class_count > 0 ? "those of class_names"
                                  : "whole numbers from 0 on, and words by class_names");
    return put_class(self, number, labels, place);
}

static void put_zeros(const cse_sentence_labels *self, void *labels, int64_t place)
{
    for (int64_t i = 0; i < self->count; i++)
        numbers_at(self, labels, place)[i] = 0;
}

/* ---- numbers ---- */

static cse_status put_one(const cse_sentence_labels *self, int64_t index, double number,
                          void *labels, int64_t place)
{
    if (!isfinite(number) || !isfinite((float)number))
        return cse_fail(CSE_DATA, "%s has a number that is not finite in float32", self->name);
    if (index < self->count)
        numbers_at(self, labels, place)[index] = (float)number;
    return CSE_OK;
}

static cse_status check_count(const cse_sentence_labels *self, int64_t count)
{
    return count == self->count
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s has %" PRId64 " numbers; num_labels is %" PRId64,
                          self->name, count, self->count);
}

/* ---- fields of tables ---- */

/* The next entry of a field that is changed; NULL at its end. */
static char *take_entry(char **rest)
{
    static const char blanks[] = " \t[]";
    char *entry = *rest;
    if (entry == NULL)
        return NULL;
    char *end = entry + strcspn(entry, ",;|");
    *rest = *end != '\0' ? end + 1 : NULL;
    *end = '\0';
    entry += strspn(entry, blanks);
    for (size_t size = strlen(entry); size > 0 && strchr(blanks, entry[size - 1]) != NULL; size--)
        entry[size - 1] = '\0';
    return entry;
}

static cse_status put_entry(const cse_sentence_labels *self, int64_t index, const char *entry,
                            void *labels, int64_t place)
{
    char *end;
    if (self->kind == CSE_LABEL_CLASSES)
        return put_word(self, entry, labels, place);
    const double number = strtod(entry, &end);
    if (end == entry || *end != '\0')
        return cse_fail(CSE_DATA, "%s is \"%.40s\", which is no number", self->name, entry);
    return put_one(self, index, number, labels, place);
}

cse_status cse_sentence_labels_put_text(const cse_sentence_labels *self, const char *text,
                                        void *labels, int64_t place)
{
    if (self->kind == CSE_LABEL_CLASS)
        return put_word(self, text, labels, place);
    char *copy = strdup(text), *rest = copy, *entry;
    int64_t count = 0;
    cse_status status = CSE_OK;
    put_zeros(self, labels, place);
    while (status == CSE_OK && (entry = take_entry(&rest)) != NULL)
        if (*entry != '\0')
            status = put_entry(self, count++, entry, labels, place);
    free(copy);
    return status == CSE_OK && self->kind == CSE_LABEL_NUMBERS ? check_count(self, count) : status;
}

/* ---- members of lines ---- */

static cse_status put_value(const cse_sentence_labels *self, int64_t index, const json_t *value,
                            void *labels, int64_t place)
{
    int32_t number;
    if (self->kind == CSE_LABEL_NUMBERS && json_is_number(value))
        return put_one(self, index, json_number_value(value), labels, place);
    if (self->kind != CSE_LABEL_NUMBERS && json_is_string(value))
        return put_word(self, json_string_value(value), labels, place);
    if (self->kind != CSE_LABEL_NUMBERS && cse_json_int32(value, &number))
        return put_class(self, number, labels, place);
    return cse_fail(CSE_DATA, "member \"%s\" is %s", self->name,
                    self->kind == CSE_LABEL_NUMBERS ? "no number, or list of numbers"
                    : self->kind == CSE_LABEL_CLASS ? "neither a whole number nor a word"
                                                    : "no list of whole numbers or words");
}

cse_status cse_sentence_labels_put_json(const cse_sentence_labels *self, const json_t *label,
                                        void *labels, int64_t place)
{
    size_t i;
    json_t *value;
    if (self->kind == CSE_LABEL_CLASS)
        return put_value(self, 0, label, labels, place);
    put_zeros(self, labels, place);
    if (!json_is_array(label)) {
        CSE_TRY(put_value(self, 0, label, labels, place));
        return self->kind == CSE_LABEL_NUMBERS ? check_count(self, 1) : CSE_OK;
    }
    json_array_foreach(label, i, value) CSE_TRY(put_value(self, (int64_t)i, value, labels, place));
    return self->kind == CSE_LABEL_NUMBERS ? check_count(self, (int64_t)json_array_size(label))
                                           : CSE_OK;
}
