/* Answers a conversation, as OpenAI's interface does */
#include "dashboard/routes/model_request.h"

static void answer(const cse_request *request, cse_answer *reply)
{
    cse_model_request_answer(request, CSE_MODEL_CHAT, reply);
}

static const char schemas[] =
    "ChatCompletionRequest open  # keys as in OpenAI's interface; what is not used here is refused "
    "by name\n"
    "  model? string\n"
    "  messages? any\n"
    "  stream? boolean|null\n"
    "  = {\"model\": \"tiny\", \"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}\n"
    "ChatCompletion open\n"
    "  id,object,model string\n"
    "  created integer\n"
    "  choices [any]\n"
    "  usage any\n";

const cse_route cse_route_v1_chat_completions = {
    .path = "/v1/chat/completions",
    .tag = "models",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("POST", "createChatCompletion", answer,
                        "Answers a conversation, as OpenAI\'s interface does"),
          .body = "ChatCompletionRequest\n",
          .replies = "200 ChatCompletion\n"
                     "200 text/event-stream string  # with stream: data: chunks, then [DONE]",
          .problems = "400 404 429 500 503",
          .own_problems = "ModelError",
          .unrecorded = true,
          .slow = true },
    },
};
