/* What the checks of all kinds share. */
#include "run/contracts/contract.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const void *cse_contract_samples(const cse_contract *contract, const void *descriptor,
                                 const void *own)
{
    const void *elsewhere = contract->samples_of != NULL ? contract->samples_of(descriptor) : NULL;
    return elsewhere != NULL ? elsewhere : own;
}

void cse_contract_tell(cse_contract *contract, cse_status status, const char *check, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, check);
    vsnprintf(text, sizeof text, check, arguments);
    va_end(arguments);
    contract->checks++;
    contract->failures += status != CSE_OK;
    contract->told(contract, text, status);
}

/* What the documentation says of null holds. */
static cse_status check_null(const cse_setting *alone, const char *subject)
{
    char yaml[256];
    cse_settings *settings = NULL;
    if (strstr(alone->doc, "null: ") == NULL || alone->type == CSE_SETTING_ALIAS)
        return CSE_OK;
    snprintf(yaml, sizeof yaml, "{%s: null}", alone->name);
    if (cse_settings_parse(alone, subject, yaml, &settings) != CSE_OK)
        return cse_fail_within(CSE_DATA, "its documentation names null: ");
    cse_settings_destroy(&settings);
    return CSE_OK;
}

cse_status cse_contract_settings(const cse_setting *table, const char *subject)
{
    for (const cse_setting *row = table; row->name != NULL; row++) {
        cse_settings *settings = NULL;
        if (row->doc == NULL || row->doc[0] == '\0')
            return cse_fail(CSE_DATA, "the setting %s has no line of documentation (doc)",
                            row->name);
        if (row->max < row->min)
            return cse_fail(CSE_DATA, "the setting %s: its max is below its min", row->name);
        if (row->type == CSE_SETTING_CHOICE && row->choices == NULL)
            return cse_fail(CSE_DATA, "the setting %s has no choices", row->name);
        const cse_setting alone[] = { *row, { .name = NULL } };
        CSE_TRY(check_null(alone, subject));
        if (row->default_value == NULL)
            continue;
        if (cse_settings_parse(alone, subject, NULL, &settings) != CSE_OK)
            return cse_fail_within(CSE_DATA, "the default of the setting %s: ", row->name);
        cse_settings_destroy(&settings);
    }
    return CSE_OK;
}

cse_status cse_contract_refused(cse_status status, const char *part)
{
    if (status == CSE_OK)
        return cse_fail(CSE_DATA, "it was accepted; a message with \"%s\" was expected", part);
    return strstr(cse_error_message(), part) != NULL
               ? CSE_OK
               : cse_fail(CSE_DATA, "it was refused without \"%s\": %s", part, cse_error_message());
}

const char *cse_contract_text(const cse_contract *contract, const char *text, char *to, size_t size)
{
    const char word[] = "$folder";
    size_t used = 0;
    for (const char *found; (found = strstr(text, word)) != NULL && used < size;
         text = found + strlen(word))
        used += (size_t)snprintf(to + used, size - used, "%.*s%s", (int)(found - text), text,
                                 contract->folder);
    if (used < size)
        snprintf(to + used, size - used, "%s", text);
    return to;
}
