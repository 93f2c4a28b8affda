/* The worst samples of the newest validation, and how good a classifier's probabilities are. */
#include "dashboard/routes/route_support.h"

static void get_validation(const cse_request *request, cse_answer *answer)
{
    cse_server_answer_artefact(request, answer, "validation.json");
}

static const char schemas[] =
    "SampleToken\n"
    "  text string\n"
    "  loss number|null  # minus the logarithm of its probability; null: it was given\n"
    "WorstSample  # what a SampleView has, and what the model made of it\n"
    "  sample integer  # its number in the data, from 0\n"
    "  place? string  # where it comes from\n"
    "  label? integer\n"
    "  name? string  # of the label's class\n"
    "  picture? SamplePicture\n"
    "  text? string  # its tokens as text; the first 96\n"
    "  values? [number|null]  # the first of its first stream\n"
    "  loss number|null  # null: no number\n"
    "  predicted? [SampleClass]  # the most likely classes first\n"
    "  tokens? [SampleToken]  # the first 256\n"
    "  target? number|null\n"
    "  output? number|null\n"
    "CalibrationBin\n"
    "  count integer 1..\n"
    "  confidence number  # the mean probability of the predicted class\n"
    "  accuracy number 0..1  # the share that is predicted as labelled\n"
    "Calibration\n"
    "  error number|null  # expected calibration error, over 15 bins (Guo et al. 2017)\n"
    "  unknown integer  # samples whose probabilities are no numbers\n"
    "  bins [CalibrationBin|null]  # of the confidence, from 0 to 1; null: no samples\n"
    "PrecisionCurve  # of one class against all others\n"
    "  class integer\n"
    "  samples integer  # that have this label\n"
    "  least,greatest number|null  # limits of the average precision, which 256 bins leave open\n"
    "  points [[number]]  # threshold, precision, recall; exact at each threshold\n"
    "ValidationSamples  # The settings are those of the section samples of the configuration.\n"
    "  step integer  # of training: whose weights these are\n"
    "  samples integer  # of the validation\n"
    "  loss string  # label: cross entropy of the label; tokens: its mean over the tokens that "
    "count; squares: mean squared difference to the targets; none: this model's loss is not told "
    "for each sample\n"
    "  worst [WorstSample]  # the greatest loss first; of equal ones the smaller number\n"
    "  classes? [string]|null  # names, in order\n"
    "  calibration? Calibration\n"
    "  precision? [PrecisionCurve]  # of at most 16 classes\n";

const cse_route cse_route_validation = {
    .path = "/api/v1/jobs/{id}/validation",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getValidation", get_validation,
                        "The worst samples of the newest validation, and a classifier's "
                        "calibration, precision and recall"),
          .replies = "200 ValidationSamples",
          .problems = "503" },
    },
};
