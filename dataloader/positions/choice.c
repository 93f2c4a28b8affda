/* One word of chance an item. */
#include "dataloader/positions/choice.h"

#include "engine/base/random.h"

bool cse_choice_next(cse_choice *choice)
{
    if (choice->unused == 0) {
        cse_philox(choice->seed, choice->counter, choice->words);
        choice->counter[0]++;
        choice->unused = 4;
    }
    const uint64_t word = choice->words[--choice->unused];
    const bool chosen = (int64_t)(word * (uint64_t)choice->left >> 32) < choice->wanted;
    choice->left--;
    choice->wanted -= chosen;
    return chosen;
}
