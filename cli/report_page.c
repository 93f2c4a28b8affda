/* The page is one of the dashboard's embedded files, with one placeholder for the data. */
#include "cli/report_page.h"

#include <string.h>

static const cse_web_file *find_template(const cse_web_file *files)
{
    for (const cse_web_file *file = files; file != NULL && file->path != NULL; file++)
        if (strcmp(file->path, "/report.html") == 0)
            return file;
    return NULL;
}

/* Escapes every "<", since "</script" would end the script. */
static void add_escaped(cse_text *page, const cse_text *data)
{
    const char *at = data->data, *end = data->data + data->size;
    while (at < end) {
        const char *next = memchr(at, '<', (size_t)(end - at));
        cse_text_add_bytes(page, at, (size_t)((next != NULL ? next : end) - at));
        if (next == NULL)
            return;
        cse_text_add_bytes(page, "\\u003c", 6);
        at = next + 1;
    }
}

cse_status cse_report_fill(const cse_web_file *files, const cse_text *data, cse_text *page)
{
    static const char place[] = "@CSENGINE_REPORT_DATA@";
    const cse_web_file *file = find_template(files);
    cse_text template = { 0 };
    if (file == NULL)
        return cse_fail(CSE_UNAVAILABLE,
                        "this csengine was built without pages: install nodejs and npm, configure "
                        "--with-web=yes and make; --json writes the data alone");
    bool whole = cse_web_file_unpack(file, &template);
    const char *at = whole ? strstr(template.data, place) : NULL;
    if (at != NULL) {
        cse_text_add_bytes(page, template.data, (size_t)(at - template.data));
        add_escaped(page, data);
        at += strlen(place);
        cse_text_add_bytes(page, at, strlen(at));
    }
    cse_text_clear(&template);
    return at != NULL ? CSE_OK : cse_fail(CSE_INTERNAL, "the report's page has no place for data");
}
