/* Labels between their two forms. */
#include "dashboard/checks/labels.h"

#include <stdint.h>
#include <string.h>

json_t *cse_labels_from_words(const json_t *words)
{
    json_t *labels = json_object(), *one;
    size_t i;
    json_array_foreach(words, i, one)
    {
        const char *word = json_string_value(one);
        size_t length = word != NULL ? strcspn(word, "=") : 0;
        char key[80];
        if (length == 0 || length >= sizeof key)
            continue;
        memcpy(key, word, length);
        key[length] = '\0';
        json_object_set_new(labels, key, json_string(word[length] == '=' ? word + length + 1 : ""));
    }
    return labels;
}

json_t *cse_labels_to_words(const json_t *labels)
{
    json_t *words = json_array(), *value;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)labels, key, value)
        json_array_append_new(words, json_sprintf("%s=%s", key, json_string_value(value)));
    return words;
}
