/* The settings in which a start differs from the one before, in words: "trainer.init.seed: 1 -> 2".
 */
#ifndef CSE_RUN_RECORD_SETTINGS_CHANGE_H
#define CSE_RUN_RECORD_SETTINGS_CHANGE_H

#include "engine/base/text.h"

/* Appends "settings changed: ..." to `message`; nothing when none did, or when the store in
 * model_dir has no configuration. `resolved`: the configuration of this start. Called before it
 * takes the place of the former. */
void cse_settings_change(const char *model_dir, const char *resolved, cse_text *message);

#endif
