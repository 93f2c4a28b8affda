/* The setting counts before the model, which only has an upper limit. */
#include "dataloader/tokens/unseen_length.h"

cse_status cse_unseen_length(const cse_settings *settings, const cse_unseen_data *known,
                             int64_t *length)
{
    *length = cse_settings_has(settings, "max_sequence_length")
                  ? cse_settings_integer(settings, "max_sequence_length")
                  : known->longest;
    return *length >= 1 ? CSE_OK
                        : cse_fail(CSE_CONFIG, "data loader: nothing says how many tokens a sample "
                                               "has: set max_sequence_length");
}
