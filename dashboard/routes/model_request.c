/* The body is checked by the model's process, which knows what each key means. */
#include "dashboard/routes/model_request.h"

#include <string.h>

#include "dashboard/server.h"

static void refuse(cse_answer *answer, int status, const char *code, json_t *message)
{
    const char *type = status == 429  ? "rate_limit_exceeded"
                       : status < 500 ? "invalid_request_error"
                                      : "server_error";
    cse_answer_json(answer, status,
                    json_pack("{s:{s:o, s:s, s:s?, s:s?}}", "error", "message", message, "type",
                              type, "param", status == 404 ? "model" : NULL, "code", code));
    if (status == 429 || status == 503)
        cse_answer_header(answer, "Retry-After", "%d", 2);
}

static void refuse_model(const cse_models *models, const char *name, cse_answer *answer)
{
    json_t *names = json_string("");
    for (int i = 0; i < cse_models_count(models); i++) {
        json_t *longer = json_sprintf("%s%s%s", json_string_value(names), i > 0 ? ", " : "",
                                      cse_models_name(models, i));
        json_decref(names);
        names = longer;
    }
    json_t *message =
        cse_models_count(models) == 0
            ? json_string("this server serves no model: start it with --model PATH")
            : json_sprintf("there is no model %s here; accepted: %s",
                           name != NULL ? name : "without a name", json_string_value(names));
    json_decref(names);
    refuse(answer, 404, "model_not_found", message);
}

/* Takes the text's bytes over. */
static void give_answer(cse_model_call *call, cse_answer *answer)
{
    cse_text text = { 0 };
    cse_text_add(&text, "%s", cse_model_call_text_view(call));
    cse_answer_text(answer, cse_model_call_status(call), "application/json", &text);
}

static void give_stream(cse_model_call *call, cse_answer *answer)
{
    cse_answer_empty(answer, 200);
    answer->content_type = "text/event-stream";
    answer->stream = &cse_model_call_stream;
    answer->stream_self = call;
}

void cse_model_request_answer(const cse_request *request, int kind, cse_answer *answer)
{
    cse_models *models = request->server->models;
    const char *name = json_string_value(json_object_get(request->body, "model"));
    const cse_model_asked asked = { .model = cse_models_find(models, name),
                                    .kind = kind,
                                    .body = request->body,
                                    .client = request->socket };
    cse_model_call *call = NULL;
    if (asked.model < 0) {
        refuse_model(models, name, answer);
        return;
    }
    const cse_model_outcome outcome = cse_models_call(models, &asked, &call);
    if (outcome == CSE_MODEL_STREAMS) {
        give_stream(call, answer);
        return;
    }
    if (outcome == CSE_MODEL_ANSWERED)
        give_answer(call, answer);
    else if (outcome == CSE_MODEL_BUSY)
        refuse(answer, 429, "queue_full",
               json_string("as many requests wait for the models as may; try again later"));
    else if (outcome == CSE_MODEL_LOST)
        refuse(answer, 503, NULL,
               json_string("the model's process has ended, or cannot load the model: the server's "
                           "log says why; the next request starts it again"));
    else
        refuse(answer, 503, NULL, json_string("the request was given up"));
    if (call != NULL)
        cse_model_call_release(call);
}
