/* Where states are kept while a run trains: the same table for CONFIG.yaml (section `states`) and
 * for YAML given to the C API. */
#ifndef CSE_CONFIG_STATES_SETTINGS_H
#define CSE_CONFIG_STATES_SETTINGS_H

#include "csengine/extend.h"

extern const cse_setting cse_states_setting_table[];

/* Whether microbatches go through a layer together: where there is room for their values, always,
 * or never. */
typedef enum cse_states_schedule {
    CSE_STATES_BY_ROOM,
    CSE_STATES_BY_LAYERS,
    CSE_STATES_BY_MICROBATCHES
} cse_states_schedule;

/* What the section says. */
typedef struct cse_states_place {
    const char *directory; /* of the file that keeps them, alive as long as the settings; NULL: they
                              are in memory */
    int64_t memory_bytes;  /* the most of that file in memory */
    cse_states_schedule schedule;
    int copies; /* of each part of optimizer states that are cut over hosts; 0: they are not */
    bool cuts_gradients; /* and so are the sums of gradients */
} cse_states_place;

/* `settings` NULL: in memory. CSE_CONFIG where names are missing or do not go together. */
cse_status cse_states_place_read(const cse_settings *settings, cse_states_place *place);

/* Bytes of a text: digits, then B, KiB, MiB, GiB or TiB, or nothing for bytes. False for any other,
 * and for more than 2^60. */
bool cse_byte_count_read(const char *text, int64_t *bytes);

#endif
