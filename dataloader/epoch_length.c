/* Division with remainder, and the permutation of a pass. */
#include "dataloader/epoch_length.h"

#include "dataloader/shuffle.h"
#include "engine/base/config/settings.h"

void cse_epoch_length_read(const cse_settings *settings, int64_t samples, cse_input *input,
                           cse_epoch_length *epoch)
{
    *epoch = (cse_epoch_length){ .samples = samples, .seed = input->seed };
    input->sample_count = samples;
    if (!cse_settings_has(settings, "num_samples"))
        return;
    input->sample_count = cse_settings_integer(settings, "num_samples");
    input->is_stream = epoch->has_passes = cse_settings_bool(settings, "shuffle");
}

int64_t cse_epoch_length_sample(const cse_epoch_length *epoch, int64_t index, int64_t *pass)
{
    const int64_t place = index % epoch->samples;
    *pass = index / epoch->samples + (epoch->has_passes ? 0 : *pass);
    return epoch->has_passes
               ? cse_shuffle_sample(cse_shuffle_key(epoch->seed, *pass), epoch->samples, place)
               : place;
}
