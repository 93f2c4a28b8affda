/* The shipped configurations, from which a new job can start. */
#include "dashboard/checks/templates.h"

#include <string.h>

#include "dashboard/server.h"

/* The first paragraph of the comment that a configuration begins with, as one line. */
static json_t *summary_of(const char *config)
{
    cse_text summary = { 0 };
    while (config[0] == '#' && config[1] == ' ') {
        size_t length = strcspn(config, "\n");
        cse_text_add(&summary, "%s%.*s", summary.size > 0 ? " " : "", (int)length - 2, config + 2);
        config += length + (config[length] == '\n');
    }
    /* An example may follow in the next paragraph. */
    if (summary.size > 0 && summary.data[summary.size - 1] == ':')
        summary.data[summary.size - 1] = '.';
    json_t *text = json_string(summary.data != NULL ? summary.data : "");
    cse_text_clear(&summary);
    return text;
}

static void list_templates(const cse_request *request, cse_answer *answer)
{
    (void)request;
    json_t *list = json_array();
    for (const cse_template *one = cse_templates; one->name != NULL; one++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "name", one->name, "summary",
                                              summary_of(one->config), "config", one->config));
    cse_answer_json(answer, 200, json_pack("{s:o}", "templates", list));
}

static const char schemas[] = "Template\n"
                              "  name string\n"
                              "  summary string  # what it trains, in a sentence or two\n"
                              "  config string  # CONFIG.yaml\n"
                              "TemplateList\n"
                              "  templates [Template]\n";

const cse_route cse_route_templates = {
    .path = "/api/v1/templates",
    .tag = "config",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listTemplates", list_templates,
                        "The shipped configurations, to start a new job from"),
          .replies = "200 TemplateList",
          .quick = true },
    },
};
