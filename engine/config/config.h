/* The configuration of a run: CONFIG.yaml in the shape of the ModelZoo Trainer's, overridden
 * from the command line, checked against one table.
 *
 * The sections that belong to a member (model, optimizer, schedulers, data loaders) are kept as
 * YAML text and checked by the member's own table; the text carries the places of its values
 * (see yaml.h), so that those errors too say file:line:column.
 *
 * Precedence: flags, then --set, then the file, then the table's defaults. */
#ifndef CSE_CONFIG_CONFIG_H
#define CSE_CONFIG_CONFIG_H

#include "csengine/extend.h"
#include "engine/base/diagnostics.h"

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

/* Loads and checks; later overrides win. Fails with CSE_NO_INPUT (no such file), CSE_CONFIG
 * (text or values are wrong: file:line:column, what is accepted, "did you mean"). The caller
 * owns the result. */
cse_status cse_config_load(const char *path, const cse_config_override *overrides,
                           int override_count, cse_config **config);
/* The same from text; `source` names it in messages. */
cse_status cse_config_parse(const char *source, const char *yaml,
                            const cse_config_override *overrides, int override_count,
                            cse_config **config);
void cse_config_destroy(cse_config **config);

/* What a configuration is made of. */
typedef struct cse_config_text {
    const char *source; /* the file's path, or what messages call the text */
    const char *yaml;   /* NULL: the file is read */
    const cse_config_override *overrides;
    int override_count;
} cse_config_text;

/* As above, and then as cse_config_check_members. With a collector of diagnostics it goes on after each
 * fault as far as others do not follow from it, and fails in the end with the message of the
 * first; then `*config` is NULL. `diagnostics` may be NULL. */
cse_status cse_config_check(const cse_config_text *text, cse_diagnostics *diagnostics,
                            cse_config **config);

/* "trainer" is the root of the table. Checked settings of a section: "init.loop", "fit",
 * "init.backend.cluster_config", "init" itself. Borrowed; a section that is not in the table ends
 * the process with a message. Fields: see config_table.c or `csengine list settings`. */
const cse_settings *cse_config_section_view(const cse_config *config, const char *section);

/* A section whose settings belong to a member of a plugin folder. */
typedef struct cse_config_member {
    const char *name;    /* "SGD", "fc_mnist"; of a data loader its data_processor */
    const char *library; /* of a model: path of the shared object that holds it, or NULL */
    const char *yaml;    /* settings of the member, with their places; pass it to its parser. A data
                          * loader's holds the whole section, data_processor included. */
    const char *canonical; /* the same without places: for digests and records */
    const char *origin;    /* "file:line:column" of the name */
} cse_config_member;

/* Sections: "model", "optimizer", "schedulers", "loggers", "train_dataloader", "val_dataloader".
 * The number is 0 for a section that is not given, at most 1 for all but "schedulers" and
 * "loggers". Borrowed. */
int cse_config_member_count(const cse_config *config, const char *section);
const cse_config_member *cse_config_member_view(const cse_config *config, const char *section,
                                                int index);

/* Every member's name against the plugin folder of its kind, and its settings against its table;
 * a model of a library of the user's own is left to it. CSE_CONFIG with the place; `diagnostics` may be
 * NULL. */
cse_status cse_config_check_members(const cse_config *config, cse_diagnostics *diagnostics);

/* What stands in the section `precision` about formats (see precision_settings.h), as YAML with its
 * places for cse_configuration.precision; NULL where nothing does. Borrowed. */
const char *cse_config_precision_view(const cse_config *config);

/* The section `numerics` likewise; NULL where it is not given. Borrowed. */
const char *cse_config_numerics_view(const cse_config *config);

/* fit.ckpt_path: absent means that the newest checkpoint of model_dir is loaded (when
 * checkpoint.autoload_last_checkpoint), null that none is, a path that this one is. */
typedef enum cse_config_start {
    CSE_START_NEWEST,
    CSE_START_FRESH,
    CSE_START_FROM_PATH
} cse_config_start;
cse_config_start cse_config_start_from(const cse_config *config, const char **path);

/* One line of YAML with every setting, defaults included: what a run's checkpoints record. Members
 * stand as they were written. Borrowed. */
const char *cse_config_canonical(const cse_config *config);
/* The same as lines for people, appended to `yaml`; and where each value came from, as the JSON
 * object {"trainer.init.seed": "file:line:column", ...}, appended to `origins`. */
struct cse_text;
void cse_config_resolved(const cse_config *config, struct cse_text *yaml, struct cse_text *origins);
/* The file's path as given, or the source. Borrowed. */
const char *cse_config_source(const cse_config *config);

/* The table of the whole file: its only entry is "trainer". */
extern const cse_setting cse_config_table[];

#endif
