/* The models that requests may name. */
#include "dashboard/server.h"

static void list_models(const cse_request *request, cse_answer *answer)
{
    const cse_server *server = request->server;
    json_t *list = json_array();
    for (int i = 0; i < cse_models_count(server->models); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s}", "id",
                                              cse_models_name(server->models, i), "object", "model",
                                              "created", (json_int_t)(server->started_ms / 1000),
                                              "owned_by", "csengine"));
    cse_answer_json(answer, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

static const char schemas[] = "ServedModel\n"
                              "  id,object,owned_by string\n"
                              "  created integer\n"
                              "  = {\"id\": \"tiny\", \"object\": \"model\", \"created\": "
                              "1700000000, \"owned_by\": \"csengine\"}\n"
                              "ModelError  # OpenAI's form of what is wrong\n"
                              "  error ModelFault\n"
                              "ModelFault\n"
                              "  message,type string\n"
                              "  param,code string|null\n"
                              "ServedModels\n"
                              "  object 'list'\n"
                              "  data [ServedModel]\n";

const cse_route cse_route_v1_models = {
    .path = "/v1/models",
    .tag = "models",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listModels", list_models, "The models that this server serves"),
          .replies = "200 ServedModels",
          .quick = true },
    },
};
