/* The name of a run is the environment's, the configuration's, or that of its model. */
#include "run/record/run_facts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/json.h"
#include "run/record/recorded_configuration.h"

static void set_labels(cse_store *store, const char *const *labels)
{
    cse_text json = { 0 };
    cse_text_add(&json, "[");
    for (int i = 0; labels[i] != NULL; i++) {
        cse_text_add(&json, i > 0 ? "," : "");
        cse_json_add_string(&json, labels[i]);
    }
    cse_text_add(&json, "]");
    cse_store_set(store, "labels", json.data);
    cse_text_clear(&json);
}

static void set_digest(cse_store *store, const char *configuration)
{
    unsigned char digest[32];
    char digits[2 * sizeof digest + 1];
    if (configuration == NULL)
        return;
    crypto_generichash(digest, sizeof digest, (const unsigned char *)configuration,
                       strlen(configuration), NULL, 0);
    sodium_bin2hex(digits, sizeof digits, digest, sizeof digest);
    cse_store_set(store, "config_digest", digits);
}

void cse_record_facts(cse_store *store, const cse_recorder_options *options)
{
    const cse_configuration *c = options->configuration;
    const char *name = getenv("CSENGINE_RUN_NAME");
    const char *own = options->name != NULL ? options->name : options->model_name;
    cse_store_set(store, "name", name != NULL && name[0] != '\0' ? name : own);
    cse_store_set(store, "model", options->model_name);
    cse_store_set(store, "optimizer", options->optimizer_name);
    cse_store_set_integer(store, "num_csx", c->num_csx);
    cse_store_set_integer(store, "num_workers_per_csx", c->num_workers_per_csx);
    cse_store_set_integer(store, "max_wgt_servers", c->max_wgt_servers);
    cse_store_set_integer(store, "seed", (int64_t)c->seed);
    set_labels(store, c->job_labels);
    set_digest(store, options->canonical_configuration);
    cse_configuration_record(store, &options->texts);
}
