/* The page is one of the dashboard's embedded files, with one placeholder for the data. */
#include "cli/runs/report_page.h"

#include <string.h>

#include "engine/base/escape.h"

static const cse_web_file *find_template(const cse_web_file *files)
{
    for (const cse_web_file *file = files; file != NULL && file->path != NULL; file++)
        if (strcmp(file->path, "/report.html") == 0)
            return file;
    return NULL;
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
        cse_escape_script(page, data);
        at += strlen(place);
        cse_text_add_bytes(page, at, strlen(at));
    }
    cse_text_clear(&template);
    return at != NULL ? CSE_OK : cse_fail(CSE_INTERNAL, "the report's page has no place for data");
}
