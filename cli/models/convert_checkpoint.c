/* What is read may be written by anybody, and files of HDF5 are parsed by its library, which is not
 * made for hostile ones: this process first gives up all but the folders that it needs. */
#include "cli/models/convert_checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/arguments/option_values.h"
#include "cli/models/merged_logits.h"
#include "cli/models/model_job.h"
#include "cli/terminal/printing.h"
#include "cli/terminal/report.h"
#include "engine/base/byte_size.h"
#include "engine/base/config/yaml.h"
#include "engine/base/sandbox.h"
#include "engine/base/types/packed/packed.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/formats/checkpoint/earlier_file.h"
#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/weights/adapter_folder.h"
#include "engine/formats/weights/folder.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/open.h"
#include "engine/formats/weights/peft/merge_own.h"
#include "engine/formats/weights/peft/settings.h"
#include "engine/formats/weights/save.h"
#include "engine/formats/weights/side_files.h"
#include "run/infer/forward_pass.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"

typedef struct conversion {
    const cse_command_line *line;
    cse_arena *arena;
    char from[PATH_MAX], to[PATH_MAX], map[PATH_MAX], side_files[PATH_MAX];
    cse_weights_options read;
    cse_weights_adapters adapters;
    cse_weights_save_options write;
    cse_confinement *confinement;
    cse_forward_pass forward;
    bool has_forward;
    cse_text notice;
} conversion;

/* ---- paths ---- */

/* The real path of a file's folder, and the file's name behind it. */
static cse_status resolve(const char *path, char resolved[PATH_MAX], size_t *folder)
{
    char copy[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof copy)
        return cse_fail(CSE_USAGE, "checkpoint convert: the path of '%.200s' is too long", path);
    char *trimmed = strndup(path, length);
    const char *slash = strrchr(trimmed, '/'), *name = slash != NULL ? slash + 1 : trimmed;
    snprintf(copy, sizeof copy, "%.*s", slash != NULL ? (int)(slash + 1 - trimmed) : 1,
             slash != NULL ? trimmed : ".");
    cse_status status = CSE_OK;
    if (*name == '\0')
        status = cse_fail(CSE_USAGE, "checkpoint convert: '%s' is not the name of a file", path);
    else if (realpath(copy, resolved) == NULL)
        status = cse_fail(CSE_NO_INPUT, "%s: %s", copy, strerror(errno));
    if (status == CSE_OK) {
        *folder = strlen(resolved);
        if (*folder + strlen(name) + 2 > PATH_MAX)
            status = cse_fail(CSE_USAGE, "checkpoint convert: the path of '%s' is too long", path);
        else
            snprintf(resolved + *folder, PATH_MAX - *folder, "/%s", name);
    }
    free(trimmed);
    return status;
}

static cse_status allow(cse_confinement *confinement, cse_path_use use, char *path, size_t folder)
{
    path[folder] = '\0';
    cse_status status = cse_confinement_allow(confinement, use, folder > 0 ? path : "/");
    path[folder] = '/';
    return status;
}

/* The folders of adapters, by their real paths. */
static cse_status resolve_adapters(conversion *c)
{
    const char **paths = cse_arena_alloc(c->arena, ((size_t)c->adapters.count + 1) * sizeof *paths);
    for (int i = 0; i < c->adapters.count; i++) {
        char path[PATH_MAX];
        if (realpath(c->adapters.paths[i], path) == NULL || !cse_weights_is_folder(path))
            return cse_fail(CSE_NO_INPUT, "--adapter %s: is no folder", c->adapters.paths[i]);
        CSE_TRY(cse_confinement_allow(c->confinement, CSE_PATH_INPUT, path));
        paths[i] = cse_arena_string(c->arena, path);
    }
    c->adapters.paths = paths;
    return CSE_OK;
}

/* What the weights are links to: the target of a file that is named, and of a folder in the cache
 * of Hugging Face (snapshots/COMMIT) the files of its repository (blobs). No other link is
 * followed, since a stranger may have made the folder. */
static cse_status allow_targets(const conversion *c)
{
    char path[PATH_MAX + 16], target[PATH_MAX];
    const bool is_folder = cse_weights_is_folder(c->from);
    snprintf(path, sizeof path, "%s%s", c->from, is_folder ? "/../../blobs" : "");
    if (realpath(path, target) == NULL || strcmp(target, c->from) == 0)
        return CSE_OK;
    if (!is_folder)
        *strrchr(target, '/') = '\0';
    return cse_confinement_allow(c->confinement, CSE_PATH_INPUT, *target != '\0' ? target : "/");
}

static cse_status set_paths(conversion *c)
{
    size_t from_folder = 0, to_folder = 0, map_folder = 0;
    char newest[PATH_MAX];
    const char *to = c->line->arguments[2];
    const char *from = cse_newest_weights(c->line->arguments[1], newest);
    CSE_TRY(resolve(from, c->from, &from_folder));
    CSE_TRY(resolve(to, c->to, &to_folder));
    if (access(c->to, F_OK) == 0)
        return cse_fail(CSE_CANNOT_CREATE, "%s: is there already; give a name that is new", to);
    if (cse_weights_is_folder(c->from))
        CSE_TRY(cse_confinement_allow(c->confinement, CSE_PATH_INPUT, c->from));
    else
        CSE_TRY(allow(c->confinement, CSE_PATH_INPUT, c->from, from_folder));
    CSE_TRY(allow_targets(c));
    CSE_TRY(allow(c->confinement, CSE_PATH_OUTPUT, c->to, to_folder));
    CSE_TRY(resolve_adapters(c));
    if (c->read.map == NULL || strchr(c->read.map, '.') == NULL)
        return CSE_OK; /* the name of a map that csengine brings */
    CSE_TRY(resolve(c->read.map, c->map, &map_folder));
    c->read.map = c->write.map = c->map;
    return allow(c->confinement, CSE_PATH_INPUT, c->map, map_folder);
}

/* Where the side files of the weights are: the folder that is named, the weights' own, or that
 * which their run keeps beside its checkpoints. */
static cse_status find_side_files(conversion *c)
{
    const char *named = cse_option_value(c->line, "side_files");
    const char *slash = strrchr(c->from, '/');
    char path[PATH_MAX];
    if (named != NULL)
        snprintf(path, sizeof path, "%s", named);
    else if (cse_weights_is_folder(c->from))
        snprintf(path, sizeof path, "%s", c->from);
    else if (snprintf(path, sizeof path, "%.*s/" CSE_SIDE_FILES_FOLDER, (int)(slash - c->from),
                      c->from) >= (int)sizeof path)
        return CSE_OK;
    const bool is_there =
        realpath(path, c->side_files) != NULL && cse_weights_is_folder(c->side_files);
    if (named != NULL && !is_there)
        return cse_fail(CSE_NO_INPUT, "--side_files %s: is no folder", named);
    if (!is_there)
        return CSE_OK;
    c->write.side_files = c->side_files;
    return cse_confinement_allow(c->confinement, CSE_PATH_INPUT, c->side_files);
}

/* ---- options ---- */

static cse_status read_bytes(const char *text, uint64_t *bytes)
{
    *bytes = 0;
    if (text == NULL || cse_byte_size_read(text, bytes))
        return CSE_OK;
    return cse_fail(CSE_USAGE, "--shard_size %s: accepted: " CSE_BYTE_SIZE_ACCEPTED, text);
}

/* Read before the process gives up its rights: it is a file of the caller's own. */
static cse_status read_configuration(conversion *c, const char *path)
{
    cse_yaml_node *root = NULL;
    cse_text text = { 0 };
    if (path == NULL)
        return CSE_OK;
    CSE_TRY(cse_yaml_parse_file(c->arena, path, &root));
    cse_yaml_print(root, &text);
    c->write.config = cse_arena_string(c->arena, text.data);
    cse_text_clear(&text);
    return CSE_OK;
}

/* A type of elements, or a packed one that is written. */
static cse_status read_type(conversion *c, const char *name)
{
    cse_text packed = { 0 };
    if (name == NULL)
        return CSE_OK;
    c->write.element = cse_element_from_name(name);
    if (c->write.element <= CSE_ELEMENT_F16)
        return CSE_OK;
    c->write.element = CSE_ELEMENT_COUNT;
    c->write.packed = cse_packed_by_name(name);
    if (c->write.packed != NULL && c->write.packed->pack != NULL)
        return CSE_OK;
    for (const cse_packed_type *const *row = cse_packed_types; *row != NULL; row++)
        if ((*row)->pack != NULL)
            cse_text_add(&packed, ", %s", (*row)->name);
    cse_status status = cse_fail(CSE_USAGE,
                                 "--dtype %s: accepted: float32, bfloat16, float16, and for GGUF "
                                 "files%s",
                                 name, packed.data + 1);
    cse_text_clear(&packed);
    return status;
}

static cse_status read_factors(conversion *c, const char *text)
{
    double *factors = cse_arena_alloc(c->arena, ((size_t)c->adapters.count + 1) * sizeof *factors);
    const char *at = text;
    bool good = c->adapters.count > 0;
    if (text == NULL)
        return CSE_OK;
    for (int i = 0; i < c->adapters.count && good; i++) {
        char *end = NULL;
        factors[i] = strtod(at, &end);
        good =
            end != at && isfinite(factors[i]) && *end == (i + 1 < c->adapters.count ? ',' : '\0');
        at = end + 1;
    }
    c->adapters.weights = factors;
    return good ? CSE_OK
                : cse_fail(CSE_USAGE,
                           "--adapter_weights %s: accepted: a number for each --adapter (there are "
                           "%d), as in 0.7,0.3",
                           text, c->adapters.count);
}

/* Adapters of PEFT that are added. */
static cse_status read_adapters(conversion *c)
{
    static const char *const kinds[] = { "cat", "linear", NULL };
    const char *kind = "cat";
    const char **paths = cse_option_all_values(c->line, "adapter");
    int count = 0;
    while (paths[count] != NULL)
        count++;
    const char **kept = cse_arena_alloc(c->arena, ((size_t)count + 1) * sizeof *kept);
    memcpy(kept, paths, (size_t)count * sizeof *kept);
    free(paths);
    CSE_TRY(cse_option_word(c->line, "combination_type", kinds, &kind));
    c->adapters = (cse_weights_adapters){ .paths = kept,
                                          .count = count,
                                          .is_linear = strcmp(kind, "linear") == 0,
                                          .any_base = cse_option_is_on(c->line, "any_base") };
    c->read.adapters = count > 0 ? &c->adapters : NULL;
    if (count > 0 && c->read.all)
        return cse_fail(CSE_USAGE, "--adapter with --all: adapters are added to the weights of a "
                                   "model alone; leave one of them out");
    return read_factors(c, cse_option_value(c->line, "adapter_weights"));
}

static bool makes_adapter(const conversion *c)
{
    return c->write.format != NULL && strcmp(c->write.format, "peft") == 0;
}

static cse_status read_options(conversion *c)
{
    const cse_command_line *line = c->line;
    const char *type = cse_option_value(line, "dtype");
    c->read = (cse_weights_options){ .format = cse_option_value(line, "from"),
                                     .map = cse_option_value(line, "map"),
                                     .all = cse_option_is_on(line, "all") };
    c->write = (cse_weights_save_options){ .format = cse_option_value(line, "to"),
                                           .map = c->read.map,
                                           .element = CSE_ELEMENT_COUNT,
                                           .all = c->read.all };
    c->write.notice = &c->notice;
    CSE_TRY(read_adapters(c));
    CSE_TRY(read_type(c, type));
    CSE_TRY(read_bytes(cse_option_value(line, "shard_size"), &c->write.file_bytes));
    return read_configuration(c, cse_option_value(line, "config"));
}

/* ---- the forward pass ---- */

/* Of the caller's own configuration, whose data loader is opened for the inputs, or of what the
 * weights say of their model: then neither data nor code that it names is touched. */
static cse_status trace_forward(conversion *c, const cse_config_text *text, bool is_own)
{
    cse_config *config = NULL;
    cse_job_settings settings;
    CSE_TRY(cse_config_check(text, NULL, &config));
    cse_status status = cse_job_settings_read(config, CSE_JOB_INFER, c->arena, &settings);
    if (!is_own)
        settings.val_dataloader = settings.train_dataloader = NULL;
    if (status == CSE_OK && settings.model == NULL)
        status = cse_fail(CSE_CONFIG, "configuration: %s: there is no section model", text->source);
    if (status == CSE_OK && !is_own && cse_config_has_library(config))
        status =
            cse_fail(CSE_USAGE, "%s: its model is that of a library: give --config CONFIG.yaml",
                     text->source);
    if (status == CSE_OK)
        status = cse_forward_pass_trace(&settings, c->arena, &c->forward);
    cse_config_destroy(&config);
    if (status == CSE_OK) {
        c->has_forward = true;
        c->write.forward = &c->forward;
    }
    return status;
}

static cse_status trace_own_forward(conversion *c)
{
    const char *path = cse_option_value(c->line, "config");
    if (path == NULL || !cse_weights_save_wants_forward(c->line->arguments[2], &c->write))
        return CSE_OK;
    return trace_forward(c, &(cse_config_text){ .source = path, .kinds = cse_kinds }, true);
}

static cse_status trace_their_forward(conversion *c, const cse_weights *weights)
{
    if (c->has_forward || !cse_weights_save_wants_forward(c->line->arguments[2], &c->write))
        return CSE_OK;
    if (weights->config == NULL)
        return cse_fail(CSE_DATA,
                        "%s: does not say what model it belongs to; give --config CONFIG.yaml",
                        weights->path);
    const cse_config_text text = { .source = weights->path,
                                   .yaml = weights->config,
                                   .kinds = cse_kinds };
    return trace_forward(c, &text, false);
}

/* ---- converting ---- */

/* A checkpoint of ours that is to be another one, as a whole: one of an earlier csengine. */
static bool is_checkpoint(const conversion *c)
{
    struct stat status;
    const size_t length = strlen(c->to);
    const bool to_ours = c->write.format != NULL
                             ? strcmp(c->write.format, "mdl") == 0
                             : length > 4 && strcmp(c->to + length - 4, ".mdl") == 0;
    if (!to_ours || c->write.element != CSE_ELEMENT_COUNT || c->write.packed != NULL ||
        c->write.all || c->adapters.count > 0)
        return false;
    const int descriptor = open(c->from, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const bool is_ours = descriptor >= 0 && fstat(descriptor, &status) == 0 &&
                         S_ISREG(status.st_mode) &&
                         cse_seal_is_at_end(descriptor, (uint64_t)status.st_size);
    if (descriptor >= 0)
        close(descriptor);
    return is_ours;
}

static cse_status convert_checkpoint(const conversion *c)
{
    cse_checkpoint *checkpoint = NULL;
    CSE_TRY(cse_checkpoint_load_earlier(c->from, &checkpoint));
    cse_status status = cse_checkpoint_save(checkpoint, c->to);
    cse_checkpoint_destroy(&checkpoint);
    return status;
}

/* As lines that can stand below "init:" of a configuration. */
static cse_status print_model(const conversion *c, const cse_weights *weights)
{
    const char *model = NULL;
    cse_yaml_node *settings = NULL;
    cse_text text = { 0 };
    if (weights->config == NULL)
        return cse_fail(CSE_DATA, "%s: does not say what model it belongs to", weights->path);
    CSE_TRY(cse_map_model_section(c->arena, weights->config, &model, &settings));
    const cse_yaml_node *root = cse_map_configuration(c->arena, model, settings);
    cse_yaml_print_block(root, &text);
    fputs(text.data, stdout);
    cse_text_clear(&text);
    return CSE_OK;
}

/* Says which files beside the weights have no place in a file, and what was done otherwise. */
static void tell_left_out(const conversion *c)
{
    cse_text names = { 0 };
    const size_t length = strlen(c->to);
    const bool is_gguf = c->write.format != NULL
                             ? strcmp(c->write.format, "gguf") == 0
                             : length > 5 && strcmp(c->to + length - 5, ".gguf") == 0;
    if (c->notice.size > 0)
        fputs(c->notice.data, stderr);
    if (c->write.side_files == NULL || cse_weights_is_folder(c->to))
        return;
    cse_side_files_list(c->write.side_files, is_gguf, &names);
    if (names.size > 0)
        fprintf(stderr,
                "%s holds no other files; left out: %s, of %s; --side_files copies them where a "
                "folder is made again\n",
                c->line->arguments[2], names.data, c->write.side_files);
    cse_text_clear(&names);
}

static cse_status convert_adapter(const conversion *c, cse_weights **weights)
{
    const cse_adapter_folder_options options = { .map = c->read.map,
                                                 .adapter =
                                                     cse_option_value(c->line, "adapter_name") };
    cse_status status = cse_adapter_folder_save(*weights, c->to, &options);
    cse_weights_close(weights);
    if (status == CSE_OK)
        cse_print("%s: written, a folder of PEFT\n", c->line->arguments[2]);
    return status;
}

/* ---- what merging changed ---- */

/* Where an adapter is merged: what its logits are compared with; path NULL: none is. */
typedef struct merging {
    cse_probed apart, merged;
    const char *missing; /* why they are not compared; NULL: they are */
} merging;

/* {a0: {path: FOLDER}, ..., active: [a0, ...]}, with the settings of the folders. */
static cse_status section_of(const conversion *c, cse_yaml_node **section)
{
    cse_text text = { 0 }, names = { 0 };
    cse_yaml_node *tree = NULL;
    cse_text_add(&text, "{");
    for (int i = 0; i < c->adapters.count; i++) {
        cse_text_add(&text, "a%d: {path: \"x\"}, ", i);
        cse_text_add(&names, "%sa%d", i > 0 ? ", " : "", i);
    }
    cse_text_add(&text, "active: [%s]}", names.data);
    cse_status status = cse_yaml_parse(c->arena, "--adapter", text.data, text.size, &tree);
    for (int i = 0; i < c->adapters.count && status == CSE_OK; i++)
        cse_yaml_find(tree->children[i], "path")->text = c->adapters.paths[i];
    cse_text_clear(&text);
    cse_text_clear(&names);
    return status == CSE_OK ? cse_peft_resolve(c->arena, tree, section) : status;
}

/* The section of a configuration that has one. */
static cse_yaml_node *own_section(const conversion *c, const char *config)
{
    static const char *const path[] = { "trainer", "init", "adapters" };
    cse_yaml_node *node = NULL;
    if (config == NULL ||
        cse_yaml_parse(c->arena, "configuration", config, strlen(config), &node) != CSE_OK)
        return NULL;
    for (int i = 0; i < 3 && node != NULL; i++)
        node = cse_yaml_find(node, path[i]);
    return node;
}

/* The configuration of the model. */
static const char *model_alone(const conversion *c, const cse_weights *weights)
{
    const char *model = NULL, *config = "";
    cse_yaml_node *settings = NULL;
    cse_text text = { 0 };
    if (weights->config == NULL ||
        cse_map_model_section(c->arena, weights->config, &model, &settings) != CSE_OK)
        return "";
    cse_yaml_print(cse_map_configuration(c->arena, model, settings), &text);
    config = cse_arena_string(c->arena, text.data);
    cse_text_clear(&text);
    return config;
}

/* Whether weights bring factors of their own, besides the folders. */
static bool have_own(const conversion *c)
{
    cse_weights_options plain = c->read;
    cse_weights *weights = NULL;
    plain.adapters = NULL;
    const bool have = cse_weights_open_ours(c->from, &plain, &weights) == CSE_OK &&
                      cse_weights_have_adapter(weights);
    cse_weights_close(&weights);
    return have;
}

/* Before weights are merged: what they are without. */
static void note_apart(const conversion *c, const cse_weights *weights, merging *m)
{
    const bool has_own = cse_weights_have_adapter(weights);
    *m = (merging){ .missing = NULL };
    if (c->write.all || (!has_own && c->adapters.count == 0))
        return;
    m->apart = (cse_probed){ .path = c->from, .any_base = c->adapters.any_base };
    if (c->adapters.weights != NULL || (c->adapters.count > 1 && c->adapters.is_linear))
        m->missing = "adapters are added with factors, or as sums of theirs";
    else if (c->adapters.count > 0 && have_own(c))
        m->missing = "the weights have factors of their own";
    else if (c->adapters.count == 0)
        m->apart.adapters = own_section(c, weights->config);
    else if (section_of(c, &m->apart.adapters) != CSE_OK)
        m->missing = cse_arena_string(c->arena, cse_error_message());
}

static void compare_logits(const conversion *c, const merging *m, cse_merged_logits *result)
{
    *result = (cse_merged_logits){ .missing = m->missing };
    if (m->missing == NULL)
        cse_merged_logits_compare(c->arena, &m->apart, &m->merged, result);
}

/* One line, or with --json one object. */
static void tell_written(const conversion *c, int count, const merging *m)
{
    const char *to = c->line->arguments[2];
    const bool json = cse_option_is_on(c->line, "json");
    cse_merged_logits logits = { .missing = NULL };
    if (m->apart.path != NULL)
        compare_logits(c, m, &logits);
    if (json) {
        json_t *object = json_pack("{s:s, s:i}", "written", to, "weights", count);
        if (m->apart.path != NULL)
            json_object_set_new(object, "merged_logits",
                                logits.missing != NULL
                                    ? json_pack("{s:s}", "missing", logits.missing)
                                    : json_pack("{s:i, s:f, s:f}", "tokens", logits.tokens,
                                                "largest_difference", logits.largest, "range",
                                                logits.range));
        char *text = json_dumps(object, JSON_COMPACT);
        cse_print("%s\n", text);
        free(text);
        json_decref(object);
        return;
    }
    cse_print("%s: written, %d weights\n", to, count);
    if (m->apart.path != NULL && logits.missing != NULL)
        cse_print("merged and unmerged logits were not compared: %s\n", logits.missing);
    else if (m->apart.path != NULL)
        cse_print("merged and unmerged logits of %d tokens differ by at most %.2g; they range over "
                  "%.3g\n",
                  logits.tokens, logits.largest, logits.range);
}

static cse_status convert_weights(conversion *c)
{
    cse_weights *weights = NULL;
    merging m;
    const bool prints = cse_option_is_on(c->line, "print_model");
    CSE_TRY(cse_weights_open_ours(c->from, &c->read, &weights));
    note_apart(c, weights, &m);
    if (makes_adapter(c))
        return convert_adapter(c, &weights);
    cse_status status = c->write.all ? CSE_OK : cse_weights_merge_adapter(&weights);
    if (status == CSE_OK && prints)
        status = print_model(c, weights);
    if (status == CSE_OK)
        status = trace_their_forward(c, weights);
    const int count = c->has_forward ? c->forward.weight_count : weights->count;
    m.merged =
        (cse_probed){ .path = c->to,
                      .model = status == CSE_OK && m.apart.path != NULL ? model_alone(c, weights)
                                                                        : NULL };
    m.apart.model = m.merged.model;
    if (status == CSE_OK)
        status = cse_weights_save(&weights, c->to, &c->write);
    cse_weights_close(&weights);
    if (status == CSE_OK && !prints)
        tell_written(c, count, &m);
    if (status == CSE_OK)
        tell_left_out(c);
    return status;
}

static cse_status convert(conversion *c)
{
    CSE_TRY(read_options(c));
    CSE_TRY(set_paths(c));
    CSE_TRY(find_side_files(c));
    CSE_TRY(trace_own_forward(c));
    CSE_TRY(cse_sandbox_enter(CSE_SANDBOX_COORDINATOR, c->confinement, NULL));
    if (!is_checkpoint(c))
        return convert_weights(c);
    CSE_TRY(convert_checkpoint(c));
    cse_print("%s: written\n", c->line->arguments[2]);
    return CSE_OK;
}

int cse_convert_checkpoint(const cse_command_line *line)
{
    conversion c = { .line = line, .arena = cse_arena_new(), .confinement = cse_confinement_new() };
    cse_status status = convert(&c);
    cse_text_clear(&c.forward.graph);
    cse_text_clear(&c.notice);
    cse_confinement_destroy(&c.confinement);
    cse_arena_destroy(&c.arena);
    return status != CSE_OK ? cse_report(status) : 0;
}
