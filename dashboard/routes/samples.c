/* What the model made of samples of the validation and of prompts, at each validation. */
#include "dashboard/routes/route_support.h"

static void get_samples(const cse_request *request, cse_answer *answer)
{
    cse_server_answer_artefact(request, answer, "samples.json");
}

static const char schemas[] =
    "SamplePicture  # at most 64 x 64, from its least value to its greatest\n"
    "  width,height,channels integer\n"
    "  pixels string  # base64 of [height, width, channels] bytes\n"
    "SampleView  # a sample of the data\n"
    "  sample integer  # its number in the data, from 0\n"
    "  place? string  # where it comes from\n"
    "  label? integer\n"
    "  name? string  # of the label's class\n"
    "  picture? SamplePicture\n"
    "  text? string  # its tokens as text; the first 96\n"
    "  values? [number|null]  # the first of its first stream\n"
    "SampleClass\n"
    "  class integer\n"
    "  name? string\n"
    "  probability number|null 0..1\n"
    "SampleValidation\n"
    "  step integer  # of training: whose weights these are\n"
    "  predictions? [[SampleClass]]  # of each picture, the most likely classes first\n"
    "  texts? [string]  # after each prompt, by the most likely tokens\n"
    "Samples  # The settings are those of the section samples of the configuration.\n"
    "  pictures? [SampleView]  # of the validation's data\n"
    "  prompts? [string]\n"
    "  validations [SampleValidation]  # the last 32\n";

const cse_route cse_route_samples = {
    .path = "/api/v1/jobs/{id}/samples",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getSamples", get_samples,
                        "Pictures with predictions, and generated text, of each validation"),
          .replies = "200 Samples",
          .problems = "503" },
    },
};
