/* The settings of the reference's cluster: what they are here.
 *
 * A setting that describes other hardware is a hint: it is accepted, so that a configuration starts
 * as it is, has no effect, and has a reason for that. */
#ifndef CSE_CONFIG_CLUSTER_TABLE_H
#define CSE_CONFIG_CLUSTER_TABLE_H

#include "csengine/extend.h"
#include "engine/base/config/yaml.h"
#include "engine/base/diagnostics.h"

extern const cse_setting cse_backend_setting_table[];

/* One hint: the path below "trainer.", and why it has no effect. */
typedef struct cse_config_hint {
    const char *path, *reason;
} cse_config_hint;

/* The hint `index`, from 0; NULL after the last. */
const cse_config_hint *cse_config_hint_at(int index);
/* The hint that a path is, or lies below; NULL for a setting that is none. */
const cse_config_hint *cse_config_hint_of(const char *path);

/* The flags backend.csx, as "debug.drop_data: true" or as nested mappings: whether each is one of
 * the reference's. `trainer` is the mapping of that name; `diagnostics` may be NULL. */
cse_status cse_config_check_csx(cse_arena *arena, const cse_yaml_node *trainer,
                                cse_diagnostics *diagnostics);

/* Gives precision.precision_opt_level the value that the cluster's settings or flags have for it.
 * To be called before the tree is checked. Fails where two of them differ. */
cse_status cse_config_take_level(cse_arena *arena, cse_yaml_node *trainer,
                                 cse_diagnostics *diagnostics);

#endif
