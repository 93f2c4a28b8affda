/* What the values of a past step that a replay has kept are like. */
#include "dashboard/routes/step_part.h"

static void get_histogram(const cse_request *request, cse_answer *answer)
{
    cse_step_part part;
    if (!cse_step_part_open(request, answer, &part))
        return;
    json_t *shown = cse_value_part_histogram(&part.part), *shape = json_array();
    for (int i = 0; i < part.part.shape.rank; i++)
        json_array_append_new(shape, json_integer(part.part.shape.dims[i]));
    json_object_set_new(shown, "shape", shape);
    cse_step_part_close(&part);
    cse_answer_json(answer, 200, shown);
}

static const char schemas[] =
    "StepHistogram  # of a part of a tensor\n"
    "  shape [integer]  # of the part\n"
    "  elements,zeros,nan,inf integer  # so many values\n"
    "  min,max,mean,std number|null  # of the finite values; null: there are none\n"
    "  bins [integer]  # finite values in 64 bins of equal width, from min to max\n"
    "  lowest integer  # exponent that the first of the next two lists counts\n"
    "  negative,positive [integer]  # values by exponent: 2^e <= |value| < 2^(e+1)\n";

const cse_route cse_route_step_histogram = {
    .path = "/api/v1/jobs/{id}/steps/{step}/histogram",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getStepHistogram", get_histogram,
                        "What kept values of a past step are like"),
          .parameters = CSE_STEP_PART_PARAMETERS,
          .replies = "200 StepHistogram",
          .slow = true },
    },
};
