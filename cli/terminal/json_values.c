/* Values become lines of JSON on stdout. */
#include "cli/terminal/json_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/text.h"

void cse_json_print(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    cse_json_print_text(text != NULL ? text : "null");
    free(text);
}

void cse_json_print_text(const char *json)
{
    cse_text out = { 0 };
    cse_json_add_printable(&out, json, strlen(json));
    cse_text_add_bytes(&out, "\n", 1);
    fwrite(out.data, 1, out.size, stdout);
    cse_text_clear(&out);
}
