/* Two checkpoints of a run, tensor by tensor.
 *
 * A page ends after so many tensors, or so many bytes that were read for it, so that an answer
 * takes about a second at most unless a single tensor is larger. */
#include "dashboard/route_support.h"
#include "dashboard/saved.h"
#include "engine/formats/checkpoint/compare.h"

#define MOST_BYTES (INT64_C(512) << 20)

static void take_difference(void *self, const cse_tensor_difference *d)
{
    static const char *const kinds[] = { "values", "form", "only_first", "only_second" };
    const bool valued = d->kind == CSE_DIFFERENT_VALUES;
    json_t *one = json_object(), *name = json_string(d->name);
    json_object_set_new(one, "name", name != NULL ? name : json_string("?"));
    json_object_set_new(one, "kind", json_string(kinds[d->kind]));
    json_object_set_new(one, "dtype", cse_text_json(d->dtypes[0]));
    json_object_set_new(one, "shape", cse_text_json(d->shapes[0]));
    json_object_set_new(one, "second_dtype", cse_text_json(d->dtypes[1]));
    json_object_set_new(one, "second_shape", cse_text_json(d->shapes[1]));
    json_object_set_new(one, "elements", valued ? json_integer(d->elements) : json_null());
    json_object_set_new(one, "differing", valued ? json_integer(d->differing) : json_null());
    json_object_set_new(one, "non_finite", valued ? json_integer(d->non_finite) : json_null());
    json_object_set_new(one, "max_absolute", valued ? json_real(d->max_absolute) : json_null());
    json_object_set_new(one, "max_relative", valued ? json_real(d->max_relative) : json_null());
    json_array_append_new(self, one);
}

/* The path of a step's file; false after it filled the answer. */
static bool find_file(const cse_server_run *run, int64_t step, cse_answer *answer,
                      char path[CSE_JOB_PATH_BYTES])
{
    json_t *found = cse_saved_find(run, step, answer);
    bool there = found != NULL && cse_saved_path(run, found, path);
    if (found != NULL && !there)
        cse_answer_problem(answer, CSE_PROBLEM_GONE, "the file of step %lld was removed",
                           (long long)step);
    json_decref(found);
    return there;
}

static void get_diff(const cse_request *request, cse_answer *answer)
{
    cse_server_run run;
    char first[CSE_JOB_PATH_BYTES], second[CSE_JOB_PATH_BYTES];
    int64_t skip = 0;
    if (!cse_page_token_read(request, answer, &skip) || !cse_server_open_run(request, answer, &run))
        return;
    bool found = find_file(&run, cse_request_integer(request, "step", 0), answer, first) &&
                 find_file(&run, cse_request_integer(request, "with", 0), answer, second);
    cse_server_close_run(request, &run);
    if (!found)
        return;
    json_t *tensors = json_array();
    cse_comparison_result result = { 0 };
    const cse_comparison wanted = { .first = first,
                                    .second = second,
                                    .skip = skip,
                                    .limit = cse_request_integer(request, "limit", 100),
                                    .most_bytes = MOST_BYTES };
    cse_status status = cse_checkpoint_compare(&wanted, &result, take_difference, tensors);
    bool more = skip + result.taken < result.differing;
    cse_answer_result(answer, status,
                      json_pack("{s:O, s:I, s:I, s:I, s:o}", "tensors", tensors, "total",
                                (json_int_t)result.tensors, "same", (json_int_t)result.same,
                                "differing", (json_int_t)result.differing, "next_page_token",
                                more ? cse_page_token_new(skip + result.taken) : json_null()));
    json_decref(tensors);
}

static const char parameters[] =
    "with integer 0..  # step of the second checkpoint\n"
    "limit? integer 1..1000 = 100  # tensors of a page; fewer where they are large\n"
    "page_token\n";

static const char schemas[] =
    "TensorDiff\n"
    "  name string\n"
    "  kind 'values'|'form'|'only_first'|'only_second'  # values: type and shape are the same; "
    "form: they are not; or it is in one of both only\n"
    "  dtype string|null\n"
    "  shape string|null  # as in [128, 784]\n"
    "  second_dtype,second_shape string|null\n"
    "  elements integer|null\n"
    "  differing integer|null  # elements whose bits differ\n"
    "  non_finite integer|null  # of those, elements that are NaN or infinite in one of both: "
    "left out of the maxima\n"
    "  max_absolute number|null  # largest |a - b|\n"
    "  max_relative number|null  # largest |a - b| / max(|a|, |b|)\n"
    "CheckpointDiff\n"
    "  tensors [TensorDiff]  # those that are not the same in both, by name\n"
    "  total integer 0..  # names in either\n"
    "  same integer 0..  # tensors of the same bits\n"
    "  differing integer 0..\n"
    "  next_page_token string|null\n";

const cse_route cse_route_checkpoint_diff = {
    .path = "/api/v1/jobs/{id}/checkpoints/{step}/diff",
    .tag = "checkpoints",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "diffCheckpoints", get_diff,
                        "What differs from another checkpoint of the run, tensor by tensor"),
          .parameters = parameters,
          .replies = "200 CheckpointDiff",
          .problems = "410 422 503" },
    },
};
