/* One table says what each key of PEFT's LoraConfig is to us. */
#include "engine/formats/weights/peft/config.h"

#include <math.h>
#include <string.h>

#include "engine/base/pattern.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"
#include "engine/formats/weights/json_file.h"

enum { CONFIG_LIMIT_BYTES = 1 << 20, MOST_RANK = 1 << 16 };

/* What a key may be. */
typedef enum meaning {
    USED,     /* read below */
    HARMLESS, /* of how the adapter was made, or begun: no matter for its factors */
    EMPTY,    /* null, false, or an empty list or object: else it means something else */
} meaning;

typedef struct key {
    const char *name;
    meaning meaning;
    const char *because; /* EMPTY: what a value would be */
} key;

static const key keys[] = {
    { "peft_type", USED, NULL },
    { "r", USED, NULL },
    { "lora_alpha", USED, NULL },
    { "lora_dropout", USED, NULL },
    { "use_rslora", USED, NULL },
    { "use_dora", USED, NULL },
    { "fan_in_fan_out", USED, NULL },
    { "bias", USED, NULL },
    { "rank_pattern", USED, NULL },
    { "alpha_pattern", USED, NULL },
    { "init_lora_weights", USED, NULL },
    { "task_type", HARMLESS, NULL },
    { "auto_mapping", HARMLESS, NULL },
    { "peft_version", HARMLESS, NULL },
    { "base_model_name_or_path", HARMLESS, NULL },
    { "revision", HARMLESS, NULL },
    { "inference_mode", HARMLESS, NULL },
    { "target_modules", HARMLESS, NULL }, /* the names of the factors say it */
    { "exclude_modules", HARMLESS, NULL },
    { "modules_to_save", HARMLESS, NULL },
    { "layers_to_transform", HARMLESS, NULL },
    { "layers_pattern", HARMLESS, NULL },
    { "megatron_core", HARMLESS, NULL },
    { "loftq_config", HARMLESS, NULL },
    { "eva_config", HARMLESS, NULL },
    { "corda_config", HARMLESS, NULL },
    { "lora_ga_config", HARMLESS, NULL },
    { "qalora_group_size", HARMLESS, NULL },
    { "ensure_weight_tying", HARMLESS, NULL },
    { "runtime_config", HARMLESS, NULL },
    { "megatron_config", EMPTY, "layers of Megatron" },
    { "trainable_token_indices", EMPTY, "rows of the embeddings that are trained alone" },
    { "velora_config", EMPTY, "another method" },
    { "alora_invocation_tokens", EMPTY, "an adapter that begins amid a text" },
    { "use_qalora", EMPTY, "factors of groups of channels" },
    { "monteclora_config", EMPTY, "another method" },
    { "layer_replication", EMPTY, "layers that are there more than once" },
    { "lora_bias", EMPTY, "a bias of the factor B" },
    { "target_parameters", EMPTY, "factors beside parameters that are no linear layer's" },
    { "use_bdlora", EMPTY, "factors in blocks" },
    { "arrow_config", EMPTY, "a choice among adapters for each token" },
    { "kasa_config", EMPTY, "another method" },
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static cse_status wrong(const cse_peft_config *c, const char *name, const char *accepted)
{
    const cse_error error = { .status = CSE_DATA, .accepted = accepted };
    char *value = json_dumps(json_object_get(c->json, name), JSON_ENCODE_ANY | JSON_COMPACT);
    cse_status status =
        cse_fail_at(&error, "%s: %s is %.80s", c->path, name, value != NULL ? value : "missing");
    free(value);
    return status;
}

static bool is_empty(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

static cse_status check_key(const cse_peft_config *c, const char *name, const json_t *value)
{
    const char *names[KEYS + 1] = { NULL };
    for (size_t i = 0; i < KEYS; i++) {
        names[i] = keys[i].name;
        if (strcmp(keys[i].name, name) != 0)
            continue;
        if (keys[i].meaning != EMPTY || is_empty(value))
            return CSE_OK;
        return cse_fail(CSE_DATA, "%s: %s is set: %s, which is not there; accepted: null or false",
                        c->path, name, keys[i].because);
    }
    const char *near = cse_did_you_mean(name, names);
    return cse_fail(CSE_DATA,
                    "%s: the key %.80s is not known, so that what it changes of the adapter is "
                    "not, either%s%s",
                    c->path, name, near != NULL ? "; did you mean " : "", near != NULL ? near : "");
}

/* ---- values ---- */

static cse_status read_bool(const cse_peft_config *c, const char *name, bool *value)
{
    const json_t *found = json_object_get(c->json, name);
    *value = json_is_true(found);
    return found == NULL || json_is_null(found) || json_is_boolean(found)
               ? CSE_OK
               : wrong(c, name, "accepted: true or false");
}

static cse_status read_number(const cse_peft_config *c, const char *name, double otherwise,
                              double *value)
{
    const json_t *found = json_object_get(c->json, name);
    *value = found == NULL ? otherwise : json_number_value(found);
    return found == NULL || (json_is_number(found) && isfinite(*value) && *value >= 0)
               ? CSE_OK
               : wrong(c, name, "accepted: a number that is not negative");
}

static bool is_rank(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 1 &&
           json_integer_value(value) <= MOST_RANK;
}

static cse_status check_patterns(const cse_peft_config *c, const char *name, bool of_ranks)
{
    const char *pattern;
    json_t *value;
    char why[192];
    json_t *found = json_object_get(c->json, name);
    if (found == NULL || json_is_null(found))
        return CSE_OK;
    if (!json_is_object(found))
        return wrong(c, name, "accepted: an object of numbers by patterns of names");
    json_object_foreach(found, pattern, value)
    {
        cse_pattern *expression = cse_pattern_new(pattern, why, sizeof why);
        const bool good = expression != NULL;
        cse_pattern_destroy(&expression);
        if (!good)
            return cse_fail(CSE_DATA, "%s: %s: \"%.80s\" is no regular expression: %s", c->path,
                            name, pattern, why);
        if (of_ranks ? !is_rank(value) : !json_is_number(value))
            return wrong(c, name,
                         of_ranks ? "accepted: ranks, integers from 1 on"
                                  : "accepted: an object of numbers");
    }
    return CSE_OK;
}

/* Ways to begin that change the weights of the model, too: the factors are not beside those that
 * the base has. */
static cse_status check_beginning(const cse_peft_config *c)
{
    static const char *const good[] = { "gaussian", "orthogonal", "eva" };
    const json_t *value = json_object_get(c->json, "init_lora_weights");
    const char *text = json_string_value(value);
    bool found = value == NULL || json_is_boolean(value) || json_is_null(value);
    for (size_t i = 0; text != NULL && i < sizeof good / sizeof good[0]; i++)
        found = found || strcmp(good[i], text) == 0;
    return found ? CSE_OK
                 : wrong(c, "init_lora_weights",
                         "accepted: true, false, gaussian, orthogonal and eva, which leave "
                         "the weights of the model as they are; PEFT makes a plain adapter of "
                         "others by save_pretrained(path_initial_model_for_weight_conversion=...)");
}

static cse_status read_values(cse_peft_config *c)
{
    const char *type = json_string_value(json_object_get(c->json, "peft_type"));
    const json_t *rank = json_object_get(c->json, "r"), *bias = json_object_get(c->json, "bias");
    if (type == NULL || strcmp(type, "LORA") != 0)
        return wrong(c, "peft_type", "accepted: LORA (with use_dora: DoRA)");
    if (rank != NULL && !is_rank(rank))
        return wrong(c, "r", "accepted: an integer from 1 on");
    c->rank = rank != NULL ? json_integer_value(rank) : 8;
    c->bias = bias != NULL && !json_is_null(bias) ? json_string_value(bias) : "none";
    if (c->bias == NULL || (strcmp(c->bias, "none") != 0 && strcmp(c->bias, "all") != 0 &&
                            strcmp(c->bias, "lora_only") != 0))
        return wrong(c, "bias", "accepted: none, all or lora_only");
    CSE_TRY(read_number(c, "lora_alpha", 8, &c->alpha));
    CSE_TRY(read_number(c, "lora_dropout", 0, &c->dropout));
    if (c->dropout > 1)
        return wrong(c, "lora_dropout", "accepted: a probability");
    CSE_TRY(read_bool(c, "use_rslora", &c->use_rslora));
    CSE_TRY(read_bool(c, "use_dora", &c->use_dora));
    CSE_TRY(read_bool(c, "fan_in_fan_out", &c->fan_in_fan_out));
    CSE_TRY(check_patterns(c, "rank_pattern", true));
    CSE_TRY(check_patterns(c, "alpha_pattern", false));
    return check_beginning(c);
}

cse_status cse_peft_config_read(const char *path, cse_peft_config *config)
{
    const char *name;
    json_t *value;
    *config = (cse_peft_config){ .path = path };
    CSE_TRY(cse_weights_read_json(path, CONFIG_LIMIT_BYTES, &config->json));
    json_object_foreach(config->json, name, value)
    {
        CSE_TRY(check_key(config, name, value));
    }
    return read_values(config);
}

void cse_peft_config_clear(cse_peft_config *config)
{
    json_decref(config->json);
    config->json = NULL;
}

/* ---- of a module ---- */

/* The value of the first pattern that is the module's name, or an end of it; NULL: of none. */
static const json_t *of_pattern(const cse_peft_config *c, const char *table, const char *module)
{
    char why[192];
    const char *pattern;
    json_t *value;
    json_object_foreach(json_object_get(c->json, table), pattern, value)
    {
        cse_pattern *expression = cse_pattern_new(pattern, why, sizeof why);
        const bool found = cse_pattern_matches_end(expression, module);
        cse_pattern_destroy(&expression);
        if (found)
            return value;
    }
    return NULL;
}

int64_t cse_peft_config_rank(const cse_peft_config *config, const char *module)
{
    const json_t *own = of_pattern(config, "rank_pattern", module);
    return own != NULL ? json_integer_value(own) : config->rank;
}

double cse_peft_config_alpha(const cse_peft_config *config, const char *module)
{
    const json_t *own = of_pattern(config, "alpha_pattern", module);
    return own != NULL ? json_number_value(own) : config->alpha;
}

double cse_peft_config_scale(const cse_peft_config *config, const char *module)
{
    const double rank = (double)cse_peft_config_rank(config, module);
    return cse_peft_config_alpha(config, module) / (config->use_rslora ? sqrt(rank) : rank);
}
