/* Without a server, the route handlers are called in this process (local_run.h). */
#include "cli/client/run_source.h"

#include <stdio.h>

#include "cli/client/client_command.h"
#include "run/control/run_command.h"

cse_status cse_run_source_open(const cse_command_line *line, const char *name,
                               cse_run_source *source)
{
    *source = (cse_run_source){ .id = name };
    if (!cse_names_run(name)) {
        cse_status status = cse_client_open(line, &source->client);
        return status == CSE_OK ? CSE_OK
                                : cse_fail_within(status,
                                                  "%s: there is no such directory, so it would be "
                                                  "the name of a job; ",
                                                  name);
    }
    CSE_TRY(cse_local_run_open(name, &source->run));
    source->id = cse_local_run_id_view(source->run);
    return CSE_OK;
}

void cse_run_source_close(cse_run_source *source)
{
    cse_client_close(&source->client);
    cse_local_run_close(&source->run);
}

static cse_status ask_server(const cse_run_source *source, const cse_run_question *question,
                             const char *query, cse_text *body)
{
    cse_text rest = { 0 };
    cse_client_answer answer;
    cse_text_add(&rest, "%s%s%s", question->path, *query != '\0' ? "?" : "", query);
    cse_status status = cse_client_get_job(source->client, source->id, rest.data, &answer);
    if (status == CSE_OK && answer.body.size > 0)
        cse_text_add_bytes(body, answer.body.data, answer.body.size);
    if (status != CSE_OK && source->shows_problems && answer.json != NULL)
        cse_client_show_body(&answer);
    cse_client_answer_clear(&answer);
    cse_text_clear(&rest);
    return status;
}

cse_status cse_run_source_ask(const cse_run_source *source, const cse_run_question *question,
                              cse_text *body)
{
    const char *query = question->query != NULL ? question->query : "";
    return source->run != NULL ? cse_local_run_ask(source->run, question->operation, query, body)
                               : ask_server(source, question, query, body);
}

cse_status cse_run_source_ask_json(const cse_run_source *source, const cse_run_question *question,
                                   json_t **answer)
{
    cse_text body = { 0 };
    cse_status status = cse_run_source_ask(source, question, &body);
    *answer = cse_json_from_others(body.data, body.size);
    cse_text_clear(&body);
    return status;
}
