/* The description that requests are checked by, as it is. */
#include <string.h>

#include "dashboard/api.h"
#include "dashboard/server.h"

static void answer_description(const cse_request *request, cse_answer *answer)
{
    cse_text text = { 0 };
    (void)request;
    cse_text_add_bytes(&text, cse_openapi_text, strlen(cse_openapi_text));
    cse_answer_text(answer, 200, "application/json", &text);
}

const cse_route cse_route_openapi = {
    .path = "/openapi.json",
    .operations = {
        { .id = "getOpenapi", .handle = answer_description, .quick = true },
        { 0 },
    },
};
