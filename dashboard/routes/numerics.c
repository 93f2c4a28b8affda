/* Tensor statistics: counts, exponents, histograms, digests. What the tensors are is a path of its
 * own, since it is the same for each step. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/routes/route_support.h"
#include "engine/base/arena.h"

/* A page token holds the step to continue with and how many of its records were already given. */
enum { MOST_TENSORS = 4096, TOKEN_STEP_SHIFT = 20 };

/* The tensors whose records are wanted. */
typedef struct choice {
    const char *wanted; /* id, or a part of the name; NULL: all */
    char ids[MOST_TENSORS][12];
    const char *list[MOST_TENSORS + 1]; /* ended by NULL */
    int count;
} choice;

static void take_tensor(void *self, const cse_row *row)
{
    choice *c = self;
    const cse_field *f = row->fields;
    if (c->count == MOST_TENSORS)
        return;
    char *id = c->ids[c->count];
    snprintf(id, sizeof c->ids[0], "%d", (int)f[0].integer);
    if (c->wanted != NULL && strcmp(c->wanted, id) != 0 &&
        (f[2].text == NULL || strstr(f[2].text, c->wanted) == NULL))
        return;
    c->list[c->count++] = id;
}

static json_t *hexadecimal(const cse_field *field)
{
    char digits[65];
    if (field->text == NULL || field->size > 32)
        return json_null();
    sodium_bin2hex(digits, sizeof digits, (const unsigned char *)field->text, field->size);
    return json_string(digits);
}

static json_t *base64(const cse_field *field)
{
    if (field->text == NULL)
        return json_null();
    size_t room = sodium_base64_encoded_len(field->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = cse_malloc(room);
    sodium_bin2base64(text, room, (const unsigned char *)field->text, field->size,
                      sodium_base64_VARIANT_ORIGINAL);
    json_t *value = json_string(text);
    free(text);
    return value;
}

typedef struct taken {
    json_t *records;
    bool histograms;
} taken;

static void take_record(void *self, const cse_row *row)
{
    const taken *t = self;
    static const char *const names[] = { "tensor", "attempt",  "step",         "count",
                                         "nan",    "inf",      "saturated",    "flushed",
                                         "zeros",  "absorbed", "max_exponent", "first_microbatch" };
    json_t *record = json_object();
    for (int i = 0; i < 12; i++)
        json_object_set_new(record, names[i], json_integer(row->fields[i].integer));
    if (row->fields[11].integer < 0)
        json_object_set_new(record, "first_microbatch", json_null());
    json_object_set_new(record, "digest", hexadecimal(&row->fields[12]));
    json_object_set_new(record, "histogram",
                        t->histograms ? base64(&row->fields[13]) : json_null());
    json_array_append_new(t->records, record);
}

static json_int_t step_at(const json_t *records, size_t index)
{
    return json_integer_value(json_object_get(json_array_get(records, index), "step"));
}

/* A page ends with a whole step, and the next one begins with the next step, unless one step
 * has more records than a page. `skipped` of the first step were on pages before. */
static json_t *cut_page(json_t *records, int64_t limit, int64_t skipped)
{
    size_t count = json_array_size(records);
    if ((int64_t)count < limit || count == 0)
        return json_null();
    json_int_t last = step_at(records, count - 1);
    if (step_at(records, 0) == last)
        return cse_page_token_new(last << TOKEN_STEP_SHIFT | (skipped + (int64_t)count));
    while (count > 0 && step_at(records, count - 1) == last)
        json_array_remove(records, --count);
    return cse_page_token_new(last << TOKEN_STEP_SHIFT);
}

static cse_status read_records(const cse_request *request, cse_store_reader *reader,
                               const choice *tensors, int64_t token, json_t *records)
{
    const int64_t first = token >> TOKEN_STEP_SHIFT;
    const int64_t skipped = token & ((INT64_C(1) << TOKEN_STEP_SHIFT) - 1);
    cse_store_query query = { .attempt = cse_request_integer(request, "attempt", 0),
                              .limit = skipped + cse_request_integer(request, "limit", 100),
                              .first_step = cse_request_integer(request, "from", 0),
                              .last_step = cse_request_integer(request, "to", 0),
                              .bad = cse_request_bool(request, "bad") };
    if (cse_request_has(request, "step"))
        query.first_step = query.last_step = cse_request_integer(request, "step", 0);
    if (first > query.first_step)
        query.first_step = first;
    if (tensors->wanted != NULL)
        query.filters[0] = (cse_store_filter){ "tensor", tensors->list };
    taken t = { .records = records,
                .histograms = !json_is_false(json_object_get(request->values, "histograms")) };
    cse_status status = cse_store_reader_rows(reader, CSE_ROW_NUMERICS, &query, take_record, &t);
    for (int64_t i = 0; i < skipped && json_array_size(records) > 0; i++)
        json_array_remove(records, 0);
    return status;
}

static void get_numerics(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    int64_t token = 0;
    if (!cse_page_token_read(request, answer, &token) ||
        !cse_server_open_run(request, answer, &run))
        return;
    choice *c = cse_calloc(1, sizeof *c);
    c->wanted = cse_request_text(request, "tensor", NULL);
    json_t *records = json_array();
    /* Without a name, one shows that there are any. */
    const cse_store_query query = { .limit = c->wanted != NULL ? MOST_TENSORS : 1,
                                    .attempt = cse_request_integer(request, "attempt", 0) };
    cse_status status = cse_store_reader_rows(run.reader, CSE_ROW_TENSOR, &query, take_tensor, c);
    if (status == CSE_OK)
        status = read_records(request, run.reader, c, token, records);
    cse_server_close_run(request, &run);
    bool none = c->count == 0 && c->wanted == NULL;
    json_t *next = cut_page(records, cse_request_integer(request, "limit", 100),
                            token & ((INT64_C(1) << TOKEN_STEP_SHIFT) - 1));
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:o, s:s?}", "records", records, "next_page_token", next,
                                "missing", none ? CSE_NO_NUMERICS : NULL));
    json_decref(records);
    free(c);
}

static const char parameters[] =
    "from? integer 0..  # first step\n"
    "to? integer 0..  # last step\n"
    "step? integer 0..  # this step alone\n"
    "tensor? string ..300  # id, or part of the name\n"
    "histograms? boolean = true  # false: without the histograms, most of a record's bytes\n"
    "bad? boolean  # only records with values that are NaN, infinite or saturated\n"
    "attempt\n"
    "limit\n"
    "page_token\n";

static const char schemas[] =
    "NumericsRecord\n"
    "  tensor integer  # id of a Tensor\n"
    "  attempt,step,count,nan,inf,saturated,flushed,zeros,absorbed integer\n"
    "  max_exponent,first_microbatch integer|null\n"
    "  digest string|null  # 16 hexadecimal digits\n"
    "  histogram string|null  # the bins as stored, base64: unsigned 64-bit little-endian counts\n"
    "Numerics\n"
    "  records [NumericsRecord]\n"
    "  next_page_token string|null\n"
    "  missing string|null  # what is not there and how to get it\n";

const cse_route cse_route_numerics = {
    .path = "/api/v1/jobs/{id}/numerics",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getNumerics", get_numerics,
                        "Tensor statistics; listTensors says of what"),
          .parameters = parameters,
          .replies = "200 Numerics",
          .problems = "503" },
    },
};
