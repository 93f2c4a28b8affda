/* Values of the command line that replace those of a configuration's tree. */
#ifndef CSE_CONFIG_CONFIG_OVERRIDES_H
#define CSE_CONFIG_CONFIG_OVERRIDES_H

#include "csengine/extend.h"
#include "engine/base/config/yaml.h"

/* One value that replaces the file's. */
typedef struct cse_config_override {
    /* "trainer.init.loop.num_steps"; "trainer.init." and "trainer.fit." may be left out. A number
     * names an entry of a list: "schedulers.0.CosineDecayLR.end_learning_rate". */
    const char *path;
    const char *value;  /* YAML */
    const char *origin; /* for messages: "--num_csx", "--set loop.num_steps" */
    bool literal;       /* `value` is one word as it stands (a path, a number), not YAML */
} cse_config_override;

/* Sets the value in the tree, adding the mappings on its path; new nodes live in `arena`. Fails
 * with CSE_CONFIG where the path does not fit the tree. */
cse_status cse_config_override_apply(cse_arena *arena, cse_yaml_node **root,
                                     const cse_config_override *override);

/* Takes out of the tree what the overrides replace by its opposite: a file's num_epochs where the
 * command line gives num_steps. Of settings that exclude each other only those of the command line
 * are left, if it gives any. To be called before the overrides are applied. */
void cse_config_overrides_prevail(cse_arena *arena, cse_yaml_node *root,
                                  const cse_config_override *overrides, int count);

/* The setting of a path as an override names it ("loop.num_steps"); NULL for none. */
const cse_setting *cse_config_setting_find(const char *path);

#endif
