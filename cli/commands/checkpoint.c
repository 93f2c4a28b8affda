/* `csengine checkpoint`: reads one checkpoint file, or makes a running job write one. Loading
 * verifies every tensor's digest, so info, verify and digest all fail on a damaged file. */
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "cli/models/convert_checkpoint.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "dataloader/identity/data_identity.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/digest.h"
#include "engine/formats/checkpoint/links.h"

static void print_json(json_t *object)
{
    cse_json_print(object);
    json_decref(object);
}

static json_t *tensors_json(const cse_checkpoint *checkpoint)
{
    json_t *list = json_array();
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[i];
        json_t *shape = json_array();
        for (int k = 0; k < tensor->shape.rank; k++)
            json_array_append_new(shape, json_integer(tensor->shape.dims[k]));
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "name", tensor->name, "dtype",
                                              cse_dtype_name(tensor->dtype), "shape", shape));
    }
    return list;
}

static json_t *data_json(const cse_data_identity *data)
{
    json_t *list = json_array();
    for (int i = 0; i < data->count; i++) {
        const cse_data_file *file = &data->files[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:s}", "path", file->path, "use",
                                              file->training ? "train" : "validation", "bytes",
                                              (json_int_t)file->bytes, "digest", file->digest));
    }
    return list;
}

static void print_data(const cse_data_identity *data)
{
    char path[4096];
    for (int i = 0; i < data->count; i++) {
        const cse_data_file *file = &data->files[i];
        cse_text_printable(file->path, path, sizeof path);
        cse_print("data:         %s, %lld bytes, %s, %s\n", file->training ? "train" : "validation",
                  (long long)file->bytes, file->digest, path);
    }
}

static void print_links(const char *text)
{
    cse_links links;
    cse_links_parse(text, &links);
    for (int i = 0; i < CSE_LINKS; i++)
        if (links.link[i].digest[0] != '\0')
            cse_print("  %-14s%s%s%s\n", cse_link_names[i], links.link[i].digest,
                      links.link[i].detail[0] != '\0' ? ", " : "", links.link[i].detail);
}

static json_t *links_json(const char *text)
{
    cse_links links;
    json_t *object = json_object();
    cse_links_parse(text, &links);
    for (int i = 0; i < CSE_LINKS; i++)
        if (links.link[i].digest[0] != '\0')
            json_object_set_new(object, cse_link_names[i],
                                json_pack("{s:s, s:s}", "digest", links.link[i].digest, "detail",
                                          links.link[i].detail));
    return object;
}

static void print_info(const cse_checkpoint *checkpoint, const char *path, bool json)
{
    char digits[65], shape[160];
    cse_checkpoint_digest(checkpoint, NULL, digits);
    char identity[CSE_DIGEST_DIGITS + 1] = "";
    cse_checkpoint_identity(path, checkpoint->links, checkpoint->global_step, identity);
    const char *model = checkpoint->model_name != NULL ? checkpoint->model_name : "";
    const char *kernels = checkpoint->kernels != NULL ? checkpoint->kernels : "";
    cse_data_identity data = { 0 };
    if (checkpoint->data != NULL)
        cse_data_identity_parse(checkpoint->data, &data);
    if (json) {
        print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "file",
                             path, "model", model, "global_step",
                             (json_int_t)checkpoint->global_step, "seed",
                             (json_int_t)checkpoint->seed, "samples_seen",
                             (json_int_t)checkpoint->samples_seen, "digest", digits, "kernels",
                             kernels, "identity", identity, "links", links_json(checkpoint->links),
                             "data", data_json(&data), "tensors", tensors_json(checkpoint)));
        cse_data_identity_clear(&data);
        return;
    }
    cse_print("file:         %s\nmodel:        %s\nglobal step:  %lld\nseed:         %llu\n"
              "samples seen: %lld\ndigest:       %s\nkernels:      %s\n",
              path, model, (long long)checkpoint->global_step, (unsigned long long)checkpoint->seed,
              (long long)checkpoint->samples_seen, digits,
              kernels[0] != '\0' ? kernels : "not recorded");
    print_data(&data);
    cse_print("identity:     %s\n", identity);
    print_links(checkpoint->links);
    cse_print("chain:        %s\n", checkpoint->chain != NULL ? checkpoint->chain : "not recorded");
    cse_data_identity_clear(&data);
    printf("tensors:      %d\n", checkpoint->tensor_count);
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const cse_checkpoint_tensor *tensor = &checkpoint->tensors[i];
        cse_print("  %-48s %-10s %s\n", tensor->name, cse_dtype_name(tensor->dtype),
                  cse_shape_text(tensor->shape, shape, sizeof shape));
    }
}

static void print_digest(const cse_command_line *line, const cse_checkpoint *checkpoint)
{
    char digits[65];
    cse_checkpoint_digest(checkpoint, cse_option_value(line, "prefix"), digits);
    if (cse_option_is_on(line, "json"))
        print_json(json_pack("{s:s}", "digest", digits));
    else
        cse_print("%s\n", digits);
}

static int save_now(const cse_command_line *line, const char *job)
{
    char resolved[PATH_MAX];
    const char *directory = cse_option_value(line, "to");
    cse_job_command command = { .name = "checkpoint", .job = job };
    if (directory != NULL && realpath(directory, resolved) == NULL)
        return cse_report(cse_fail(CSE_CANNOT_CREATE, "--to %s: %s", directory, strerror(errno)));
    if (directory != NULL)
        command.body = json_pack("{s:s}", "directory", resolved);
    return cse_send_job_command(line, &command);
}

static int run(const cse_command_line *line)
{
    const char *word = line->arguments[0], *path = line->arguments[1];
    const bool converts = strcmp(word, "convert") == 0;
    if (converts != (line->argument_count == 3))
        return cse_report(cse_fail(CSE_USAGE, converts ? "checkpoint convert: takes OLD and NEW"
                                                       : "checkpoint: takes one FILE"));
    if (converts)
        return cse_convert_checkpoint(line);
    if (strcmp(word, "save") == 0)
        return save_now(line, path);
    cse_checkpoint *checkpoint = NULL;
    cse_status status = cse_checkpoint_load(path, &checkpoint);
    if (status != CSE_OK)
        return cse_report(status);
    bool json = cse_option_is_on(line, "json");
    if (strcmp(word, "info") == 0)
        print_info(checkpoint, path, json);
    else if (strcmp(word, "digest") == 0)
        print_digest(line, checkpoint);
    else if (json)
        print_json(json_pack("{s:s, s:b, s:i}", "file", path, "whole", 1, "tensors",
                             checkpoint->tensor_count));
    else
        cse_print("%s: whole, %d tensors\n", path, checkpoint->tensor_count);
    cse_checkpoint_destroy(&checkpoint);
    return 0;
}

static const cse_option options[] = {
    { "prefix", "TEXT", NULL, "digest: only tensors whose names begin with TEXT, as in model." },
    CSE_CONVERT_OPTIONS,
    CSE_CLIENT_OPTIONS,
    { 0 },
};

static const cse_command_note examples[] = {
    { "checkpoint info model_dir/fc_mnist/checkpoint_1872.mdl",
      "names, shapes and types of its tensors" },
    { "checkpoint convert gpt2 gpt2.mdl --print_model",
      "the weights of a folder of Hugging Face, and the section model for them" },
    { 0 },
};

const cse_command cse_command_checkpoint = {
    .name = "checkpoint",
    .group = CSE_GROUP_LOOK,
    .summary = "shows, verifies or digests a checkpoint, makes a job save one",
    .arguments = "info|verify|digest FILE, convert OLD NEW, or save JOB|MODEL_DIR",
    .doc =
        "info: shows the contents. verify: checks every tensor's digest. digest: BLAKE2b-256 over\n"
        "names, shapes and raw bits in name order; equal digests mean equal weights. save: makes\n"
        "a running job write a checkpoint after its current step and continue. convert: writes\n"
        "weights in another format (mdl, safetensors, a folder of Hugging Face), and a file of an\n"
        "earlier csengine anew, in a process that reaches the two folders alone. The folder of a\n"
        "run as OLD stands for its newest checkpoint.",
    .options = options,
    .min_arguments = 2,
    .max_arguments = 3,
    .words = "info|verify|digest|save|convert",
    .examples = examples,
    .run = run,
};
