/* The section `alerts`: conditions on the curves of a run, and who is told when one holds. */
#include "engine/base/config/alert_settings.h"

#include <stddef.h>

const cse_setting cse_alert_setting_table[] = {
    { "when", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL,
      "conditions, as in [\"loss > 3 * median(loss, 100)\", \"no step for 60 s\"]; each is told in "
      "the log and on the run's page when it begins to hold and when it ceases to",
      NULL },
    { "webhook", CSE_SETTING_TEXT, "null", 0, 0, NULL,
      "http://HOST[:PORT][/PATH]: gets each alert as JSON by POST", NULL },
    { "program", CSE_SETTING_PATH, "null", 0, 0, NULL,
      "a program, as a path or a name in PATH, that is run for each alert and gets it as JSON on "
      "its standard input; without a shell",
      NULL },
    { "arguments", CSE_SETTING_TEXT_LIST, "[]", 0, 0, NULL, "arguments of the program", NULL },
    { 0 },
};
