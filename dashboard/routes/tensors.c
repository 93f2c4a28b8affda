/* The tensors that have statistics: where in the model each stands, and its format. */
#include "dashboard/routes/route_support.h"

enum { MOST_TENSORS = 4096 };

static json_t *text_or_null(const cse_field *field)
{
    json_t *text = field->text != NULL ? json_stringn(field->text, field->size) : NULL;
    return text != NULL ? text : json_null();
}

static void take_tensor(void *self, const cse_row *row)
{
    static const char *const names[] = { "name", "scope", "op", "kind", "source_dtype", "dtype" };
    const cse_field *f = row->fields;
    json_t *tensor = json_object();
    json_object_set_new(tensor, "id", json_integer(f[0].integer));
    json_object_set_new(tensor, "attempt", json_integer(f[1].integer));
    json_object_set_new(tensor, "order", json_integer(f[0].integer)); /* as rows are added */
    for (int i = 0; i < 6; i++) {
        json_t *text = text_or_null(&f[2 + i]);
        json_object_set_new(tensor, names[i], i < 3 && json_is_null(text) ? json_string("") : text);
    }
    json_object_set_new(tensor, "backward", json_boolean(f[8].integer > 0));
    json_object_set_new(tensor, "file", text_or_null(&f[9]));
    json_object_set_new(tensor, "line",
                        f[10].integer > 0 ? json_integer(f[10].integer) : json_null());
    json_array_append_new(self, tensor);
}

static void list_tensors(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    cse_store_query query = { .limit = cse_request_integer(request, "limit", MOST_TENSORS),
                              .attempt = cse_request_integer(request, "attempt", 0) };
    if (!cse_page_token_read(request, answer, &query.after) ||
        !cse_server_open_run(request, answer, &run))
        return;
    json_t *tensors = json_array();
    cse_status status =
        cse_store_reader_rows(run.reader, CSE_ROW_TENSOR, &query, take_tensor, tensors);
    cse_server_close_run(request, &run);
    const size_t count = json_array_size(tensors);
    const json_t *last = json_object_get(json_array_get(tensors, count - 1), "id");
    const bool more = count > 0 && (int64_t)count == query.limit;
    const bool none = count == 0 && query.after == 0;
    cse_answer_result(answer, status,
                      json_pack("{s:o, s:o, s:s?}", "tensors", tensors, "next_page_token",
                                more ? cse_page_token_new(json_integer_value(last)) : json_null(),
                                "missing", none ? CSE_NO_NUMERICS : NULL));
}

static const char parameters[] = "attempt\n"
                                 "limit? integer 1..4096 = 4096  # at most so many entries\n"
                                 "page_token\n";

static const char schemas[] = "Tensor\n"
                              "  id integer\n"
                              "  attempt integer  # a tensor of each attempt is one of its own\n"
                              "  order integer  # of execution in a microbatch: the tensor with "
                              "the lower one comes first\n"
                              "  name,scope,op string\n"
                              "  kind 'cast'|'gradient'|'weight'|'state'|'observed'\n"
                              "  source_dtype,dtype string|null\n"
                              "  backward boolean\n"
                              "  file string|null\n"
                              "  line integer|null\n"
                              "TensorList\n"
                              "  tensors [Tensor]  # by id\n"
                              "  next_page_token string|null\n"
                              "  missing string|null  # what is not there and how to get it\n";

const cse_route cse_route_tensors = {
    .path = "/api/v1/jobs/{id}/tensors",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listTensors", list_tensors,
                        "The tensors that have statistics"),
          .parameters = parameters,
          .replies = "200 TensorList",
          .problems = "503" },
    },
};
