/* The configuration of a run: CONFIG.yaml in the shape of the ModelZoo Trainer's, overridden
 * from the command line, checked against one table and the tables of the plugins that it names.
 *
 * It is made once; all that runs takes its values from here, each with the place where it was
 * given, and nobody parses text again. It remembers which values were asked for.
 *
 * Precedence: flags, then --set, then the file, then the table's defaults. */
#ifndef CSE_CONFIG_CONFIG_H
#define CSE_CONFIG_CONFIG_H

#include "csengine/extend.h"
#include "engine/base/diagnostics.h"
#include "engine/base/registry.h"
#include "engine/config/yaml.h"

typedef struct cse_config cse_config;

/* One value that replaces the file's. */
typedef struct cse_config_override {
    /* "trainer.init.loop.num_steps"; "trainer.init." and "trainer.fit." may be left out. A number
     * names an entry of a list: "schedulers.0.CosineDecayLR.end_learning_rate". */
    const char *path;
    const char *value;  /* YAML */
    const char *origin; /* what messages call it: "--num_csx", "--set loop.num_steps" */
    bool literal;       /* `value` is one word as it stands (a path, a number), not YAML */
} cse_config_override;

/* What a configuration is made of. */
typedef struct cse_config_text {
    const char *source;                   /* the file's path, or what messages call the text */
    const char *yaml;                     /* NULL: the file is read */
    const cse_config_override *overrides; /* later ones win */
    int override_count;
    const cse_kind *kinds; /* the plugins that there are; NULL: their settings are not checked */
} cse_config_text;

/* Loads and checks. Fails with CSE_NO_INPUT (no such file), CSE_CONFIG (text or values are wrong:
 * the place, what is accepted, "did you mean"). With a collector of diagnostics it goes on after
 * each error as far as others do not follow from it, and fails in the end with the first; then
 * `*config` is NULL. `diagnostics` may be NULL. The caller owns the result. */
cse_status cse_config_check(const cse_config_text *text, cse_diagnostics *diagnostics,
                            cse_config **config);
void cse_config_destroy(cse_config **config);

/* "trainer" is the root of the table. Checked settings of a section: "init.loop", "fit",
 * "init.backend.cluster_config", "init" itself. Borrowed; a section that is not in the table ends
 * the process with a message. Fields: see config_table.c or `csengine list settings`. */
const cse_settings *cse_config_section_view(const cse_config *config, const char *section);

/* A plugin that a section names, and what it sets of it. */
typedef struct cse_config_plugin {
    const char *name;             /* "SGD", "fc_mnist"; of a data loader its data_processor */
    const char *library;          /* of a model: path of the shared object that holds it, or NULL */
    const void *descriptor;       /* of its kind's type; NULL with a library, or without kinds */
    const cse_settings *settings; /* checked against its table; NULL where `descriptor` is */
    cse_yaml_node *tree; /* what `settings` are made of: for the table of a library's model */
    cse_place place;     /* of the name */
} cse_config_plugin;

/* Sections: "model", "optimizer", "schedulers", "loggers", "train_dataloader", "val_dataloader".
 * The number is 0 for a section that is not given, at most 1 for all but "schedulers" and
 * "loggers". Borrowed. */
int cse_config_plugin_count(const cse_config *config, const char *section);
const cse_config_plugin *cse_config_plugin_view(const cse_config *config, const char *section,
                                                int index);

/* fit.ckpt_path: absent means that the newest checkpoint of model_dir is loaded (when
 * checkpoint.autoload_last_checkpoint), null that none is, a path that this one is. */
typedef enum cse_config_start {
    CSE_START_NEWEST,
    CSE_START_FRESH,
    CSE_START_FROM_PATH
} cse_config_start;
cse_config_start cse_config_start_from(const cse_config *config, const char **path);

/* One line of YAML with every setting, defaults included: what a run's checkpoints record. Plugins
 * stand as they were written. Borrowed. */
const char *cse_config_canonical(const cse_config *config);
/* The same as lines for people, appended to `yaml`; and where each value came from, as the JSON
 * object {"trainer.init.seed": "file:line:column", ...}, appended to `origins`. */
struct cse_text;
void cse_config_resolved(const cse_config *config, struct cse_text *yaml, struct cse_text *origins);
/* The values that were given and that nothing has asked for so far, in the order of the file;
 * returns their number. The list lives as long as the configuration. */
int cse_config_unread(const cse_config *config, cse_yaml_unread **list);
/* The file's path as given, or the source. Borrowed. */
const char *cse_config_source(const cse_config *config);

/* Whether a text may stand in job_labels: key=value, each of 1 to 63 letters, digits and inner -_. */
bool cse_config_is_label(const char *label);

/* The table of the whole file: its only entry is "trainer". */
extern const cse_setting cse_config_table[];
/* Its setting of that path ("loop.num_steps", as an override names it); NULL for none. */
const cse_setting *cse_config_setting_find(const char *path);

#endif
