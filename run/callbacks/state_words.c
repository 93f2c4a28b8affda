/* The groups are the first words of the names of states in a checkpoint. */
#include "run/callbacks/state_words.h"

#include <stdio.h>
#include <string.h>

static const char *const groups[] = { "model",    "optimizer", "schedulers", "grad_scaler",
                                      "sparsity", "ema",       "global_step" };

static bool is_group(const char *word)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strcmp(groups[i], word) == 0)
            return true;
    return false;
}

cse_status cse_state_words_read(const cse_settings *settings, const char *name,
                                cse_state_words *words)
{
    int count = 0;
    *words = (cse_state_words){ .all = false };
    snprintf(words->text, sizeof words->text, "%s", cse_settings_text(settings, name));
    char *rest = words->text;
    for (char *word = strsep(&rest, "[], \"'"); word != NULL; word = strsep(&rest, "[], \"'")) {
        if (*word == '\0')
            continue;
        if (strcmp(word, "all") == 0)
            words->all = true;
        else if (!is_group(word))
            return cse_fail(CSE_CONFIG,
                            "%s (%s): there are no states \"%.40s\"; accepted: all, model, "
                            "optimizer, schedulers, grad_scaler, sparsity, ema, global_step, or "
                            "several of them",
                            name, cse_settings_origin(settings, name), word);
        else if (count < CSE_MOST_STATE_WORDS)
            words->words[count++] = word;
    }
    if (count > 0 || words->all)
        return CSE_OK;
    return cse_fail(CSE_CONFIG,
                    "%s (%s) names no states; accepted: all, model, optimizer, "
                    "schedulers, grad_scaler, sparsity, global_step, or several of them",
                    name, cse_settings_origin(settings, name));
}
