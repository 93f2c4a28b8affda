/* The settings that can follow on an incomplete `--set`. */
#ifndef CSE_CLI_COMPLETION_COMPLETION_SETTINGS_H
#define CSE_CLI_COMPLETION_COMPLETION_SETTINGS_H

#include "cli/completion/candidates.h"

/* The value of --set: paths of settings, and behind "=" the accepted values. */
void cse_complete_setting(cse_candidates *candidates);

#endif
