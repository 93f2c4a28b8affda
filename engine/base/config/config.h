/* The configuration of a run: CONFIG.yaml in the shape of the ModelZoo Trainer's, overridden from
 * the command line, checked against one table and the tables of the plugins that it names.
 *
 * It is made once: all code takes its values from here, each with its source location, and no text
 * is parsed again. It records which values were read, to report those that have no effect.
 *
 * Precedence: flags, then --set, then the file, then the table's defaults. Of settings that exclude
 * each other, those of the command line replace those of the file. */
#ifndef CSE_CONFIG_CONFIG_H
#define CSE_CONFIG_CONFIG_H

#include "engine/base/config/config_overrides.h"
#include "engine/base/config/config_plugins.h"
#include "engine/base/config/config_rules.h"
#include "engine/base/config/config_table.h"
#include "engine/base/confinement.h"
#include "engine/base/diagnostics.h"

typedef struct cse_config cse_config;

/* What a configuration is made of. */
typedef struct cse_config_text {
    const char *source;                   /* the file's path, or a name for messages */
    const char *yaml;                     /* NULL: the file is read */
    const cse_config_override *overrides; /* later ones win */
    int override_count;
    const cse_kind *kinds; /* available plugins; NULL: their settings are not checked */
    const cse_confinement *confinement; /* what paths may lead to; NULL: anything */
} cse_config_text;

/* Loads and checks. Fails with CSE_NO_INPUT (no such file) or CSE_CONFIG (wrong text or values: the
 * place, what is accepted, "did you mean"). With a collector of diagnostics it goes on after each
 * error, skipping checks that would only repeat it, and fails at the end with the first; then
 * `*config` is NULL. `diagnostics` may be NULL. The caller owns the result. */
cse_status cse_config_check(const cse_config_text *text, cse_diagnostics *diagnostics,
                            cse_config **config);
void cse_config_destroy(cse_config **config);

/* Whether it names a library of plugins anywhere: code that is not loaded by the check. */
bool cse_config_has_library(const cse_config *config);
/* Loads the libraries that its sections name, and completes the plugins of those sections. Where a
 * job is confined its process does so inside. The second call does nothing, nor
 * does one without a configuration. */
cse_status cse_config_load_plugins(const cse_config *config, cse_plugin_finder *find,
                                   cse_diagnostics *diagnostics);

/* Checked settings of a section below "trainer": "init.loop", "fit", "init.backend.cluster_config",
 * "init" itself. Borrowed; a section that is not in the table ends the process with a message.
 * Fields: see config_table.c or `csengine list settings`. */
const cse_settings *cse_config_section_view(const cse_config *config, const char *section);

/* Sections: "model", "optimizer", "objective", "schedulers", "callbacks", "loggers",
 * "train_dataloader", "val_dataloader", "validate.val_dataloader", "validate_all.val_dataloaders".
 * The number is 0 for a section that is not given, at most 1 for the first three and
 * train_dataloader. Borrowed. */
int cse_config_plugin_count(const cse_config *config, const char *section);
const cse_config_plugin *cse_config_plugin_view(const cse_config *config, const char *section,
                                                int index);

/* fit.ckpt_path. Absent: the newest checkpoint of model_dir is loaded (if
 * checkpoint.autoload_last_checkpoint). "newest": it is in any case. null: none is. A path: that
 * one is. */
typedef enum cse_config_start {
    CSE_START_NEWEST,
    CSE_START_FRESH,
    CSE_START_FROM_PATH
} cse_config_start;
cse_config_start cse_config_start_from(const cse_config *config, const char **path);

/* One line of YAML with every setting, defaults included, which checkpoints record. Sections of
 * plugins are kept as written. Borrowed. */
const char *cse_config_canonical(const cse_config *config);
/* The same as block YAML, appended to `yaml`; and the source of each value, as the JSON object
 * {"trainer.init.seed": "file:line:column", ...}, appended to `origins`. */
struct cse_text;
void cse_config_resolved(const cse_config *config, struct cse_text *yaml, struct cse_text *origins);
/* The settings that can change a bit of a step, appended (cse_settings_effective). */
void cse_config_effective(const cse_config *config, struct cse_text *text);
/* The values that were given but never read, in the order of the file; returns their number. The
 * list lives as long as the configuration. */
int cse_config_unread(const cse_config *config, cse_yaml_unread **list);
/* The whole tree, overrides included, and the memory that it lives in. Borrowed. */
const cse_yaml_node *cse_config_root_view(const cse_config *config);
cse_arena *cse_config_arena_view(const cse_config *config);
/* The file's path as given, or the source. Borrowed. */
const char *cse_config_source(const cse_config *config);

#endif
