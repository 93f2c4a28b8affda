/* Goes on with a text, as OpenAI's interface does */
#include "dashboard/routes/model_request.h"

static void answer(const cse_request *request, cse_answer *reply)
{
    cse_model_request_answer(request, CSE_MODEL_TEXT, reply);
}

static const char schemas[] = "CompletionRequest open  # keys as in OpenAI's interface; what is "
                              "not used here is refused by name\n"
                              "  model? string\n"
                              "  prompt? any\n"
                              "  stream? boolean|null\n"
                              "  = {\"model\": \"tiny\", \"prompt\": \"Once upon\"}\n"
                              "Completion open\n"
                              "  id,object,model string\n"
                              "  created integer\n"
                              "  choices [any]\n"
                              "  usage any\n";

const cse_route cse_route_v1_completions = {
    .path = "/v1/completions",
    .tag = "models",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("POST", "createCompletion", answer,
                        "Goes on with a text, as OpenAI\'s interface does"),
          .body = "CompletionRequest\n",
          .replies = "200 Completion\n"
                     "200 text/event-stream string  # with stream: data: chunks, then [DONE]",
          .problems = "400 404 429 500 503",
          .own_problems = "ModelError",
          .unrecorded = true,
          .slow = true },
    },
};
