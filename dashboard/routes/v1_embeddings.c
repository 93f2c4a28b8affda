/* Vectors of texts, as OpenAI's interface gives them */
#include "dashboard/routes/model_request.h"

static void answer(const cse_request *request, cse_answer *reply)
{
    cse_model_request_answer(request, CSE_MODEL_VECTORS, reply);
}

static const char schemas[] = "EmbeddingRequest open\n"
                              "  model? string\n"
                              "  input? any\n"
                              "  = {\"model\": \"minilm\", \"input\": [\"one\", \"two\"]}\n"
                              "EmbeddingList open\n"
                              "  object,model string\n"
                              "  data [any]\n"
                              "  usage any\n";

const cse_route cse_route_v1_embeddings = {
    .path = "/v1/embeddings",
    .tag = "models",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("POST", "createEmbedding", answer,
                        "Vectors of texts, as OpenAI\'s interface gives them"),
          .body = "EmbeddingRequest\n",
          .replies = "200 EmbeddingList",
          .problems = "400 404 429 500 503",
          .own_problems = "ModelError",
          .unrecorded = true,
          .slow = true },
    },
};
