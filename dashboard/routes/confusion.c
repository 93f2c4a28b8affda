/* The confusion matrices of the newest validation. */
#include "dashboard/routes/route_support.h"

static void get_confusion(const cse_request *request, cse_answer *answer)
{
    cse_server_answer_artefact(request, answer, "confusion.json");
}

static const char schemas[] =
    "ConfusionMatrix\n"
    "  name string  # val_confusion_matrix, or of several data loaders "
    "validate_0/confusion_matrix\n"
    "  step integer  # of training: whose weights these are\n"
    "  classes [string]|null  # their names, in order; null: they have numbers alone\n"
    "  counts [[number]]  # a row for each label, in it a number for each prediction\n"
    "Confusion  # of the metric confusion_matrix of the configuration\n"
    "  matrices [ConfusionMatrix]\n";

const cse_route cse_route_confusion = {
    .path = "/api/v1/jobs/{id}/confusion",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getConfusion", get_confusion,
                        "Confusion matrices of the newest validation"),
          .replies = "200 Confusion",
          .problems = "503" },
    },
};
