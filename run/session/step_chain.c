/* Numbers enter a digest as 8 bytes, little endian. */
#include "run/session/step_chain.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/position.h"
#include "engine/base/arena.h"
#include "workers/arena/state_digests.h"

static void add_number(crypto_generichash_state *hash, uint64_t number)
{
    crypto_generichash_update(hash, (const unsigned char *)&number, sizeof number);
}

/* ---- where it begins ---- */

static void stand_at(cse_step_chain *chain, int64_t steps)
{
    chain->known = true;
    chain->steps = steps;
    chain->kept[steps % CSE_CHAIN_KEPT].sequence = steps + 1;
    memcpy(chain->kept[steps % CSE_CHAIN_KEPT].chain, chain->chain, CSE_CHAIN_BYTES);
}

void cse_step_chain_begin(cse_step_chain *chain, int64_t steps)
{
    chain->begins = !chain->known || chain->steps != steps;
    if (!chain->begins)
        return;
    chain->steps = steps;
    crypto_generichash_init(&chain->beginning, NULL, 0, CSE_CHAIN_BYTES);
    add_number(&chain->beginning, (uint64_t)steps);
}

void cse_step_chain_add_state(cse_step_chain *chain, const char *name, uint64_t digest)
{
    if (!chain->begins)
        return;
    crypto_generichash_update(&chain->beginning, (const unsigned char *)name, strlen(name) + 1);
    add_number(&chain->beginning, digest);
}

void cse_step_chain_begun(cse_step_chain *chain)
{
    if (!chain->begins)
        return;
    chain->begins = false;
    crypto_generichash_final(&chain->beginning, chain->chain, CSE_CHAIN_BYTES);
    stand_at(chain, chain->steps);
}

/* ---- steps ---- */

static void digest_states(const cse_record *record, unsigned char digest[CSE_CHAIN_PART_BYTES])
{
    _Static_assert((int)CSE_CHAIN_PART_BYTES == (int)CSE_STEP_STATES_BYTES, "one digest");
    cse_step_states_digest(record->state_digests, record->state_digest_count, digest);
}

void cse_step_samples_digest(const cse_batching *batching, int64_t count, int64_t step,
                             unsigned char digest[CSE_CHAIN_PART_BYTES])
{
    const size_t size = (size_t)batching->micro_batch_size;
    int64_t *samples = cse_malloc(2 * size * sizeof *samples);
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, CSE_CHAIN_PART_BYTES);
    for (int64_t m = 0; m < cse_batching_microbatches(batching); m++) {
        cse_position_samples(batching, count, cse_position_of(batching, count, step, m), samples,
                             samples + size);
        /* As pairs, so that how the batch is divided makes no difference. */
        for (size_t i = 0; i < size; i++) {
            add_number(&hash, (uint64_t)samples[i]);
            add_number(&hash, (uint64_t)samples[size + i]);
        }
    }
    crypto_generichash_final(&hash, digest, CSE_CHAIN_PART_BYTES);
    free(samples);
}

static void print_links(const cse_links *links, char text[CSE_CHAIN_LINKS_BYTES])
{
    static const cse_link entering[] = { CSE_LINK_CONFIGURATION, CSE_LINK_CODE, CSE_LINK_DATA,
                                         CSE_LINK_SEED };
    size_t at = 0;
    for (size_t i = 0; i < sizeof entering / sizeof entering[0]; i++)
        at += (size_t)snprintf(text + at, CSE_CHAIN_LINKS_BYTES - at, "%s %s\n",
                               cse_link_names[entering[i]], links->link[entering[i]].digest);
}

void cse_step_chain_join(cse_chain_step *step)
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, CSE_CHAIN_BYTES);
    crypto_generichash_update(&hash, step->before, CSE_CHAIN_BYTES);
    add_number(&hash, (uint64_t)step->steps);
    crypto_generichash_update(&hash, step->states, CSE_CHAIN_PART_BYTES);
    crypto_generichash_update(&hash, step->samples, CSE_CHAIN_PART_BYTES);
    crypto_generichash_update(&hash, (const unsigned char *)step->links, strlen(step->links));
    crypto_generichash_final(&hash, step->chain, CSE_CHAIN_BYTES);
}

void cse_step_chain_add(cse_step_chain *chain, const cse_links *links, const cse_dataloader *loader,
                        const cse_record *record, cse_chain_step *added)
{
    print_links(links, chain->links);
    if ((!chain->known || chain->steps != record->step) && record->chain_before != NULL)
        memcpy(chain->chain, record->chain_before->chain, CSE_CHAIN_BYTES);
    else if (!chain->known || chain->steps != record->step)
        memset(chain->chain, 0, CSE_CHAIN_BYTES); /* where it comes from is not known */
    *added = (cse_chain_step){ .steps = record->step + 1, .links = chain->links };
    memcpy(added->before, chain->chain, CSE_CHAIN_BYTES);
    digest_states(record, added->states);
    cse_step_samples_digest(cse_dataloader_batching_view(loader),
                            cse_dataloader_input_view(loader)->sample_count, record->step,
                            added->samples);
    cse_step_chain_join(added);
    memcpy(chain->chain, added->chain, CSE_CHAIN_BYTES);
    stand_at(chain, added->steps);
    if (record->chain == NULL)
        return;
    atomic_store(&record->chain->sequence, 0);
    memcpy(record->chain->chain, added->chain, CSE_CHAIN_BYTES);
    atomic_store(&record->chain->sequence, added->steps + 1);
}

/* ---- in checkpoints ---- */

const char *cse_step_chain_text(cse_step_chain *chain, int64_t steps)
{
    char digits[2 * CSE_CHAIN_BYTES + 1];
    if (chain->kept[steps % CSE_CHAIN_KEPT].sequence != steps + 1)
        return NULL;
    sodium_bin2hex(digits, sizeof digits, chain->kept[steps % CSE_CHAIN_KEPT].chain,
                   CSE_CHAIN_BYTES);
    snprintf(chain->text, sizeof chain->text, "%" PRId64 " %s", steps, digits);
    return chain->text;
}

void cse_step_chain_take(cse_step_chain *chain, const char *text, int64_t steps)
{
    long long at = -1;
    char digits[2 * CSE_CHAIN_BYTES + 1] = "";
    size_t bytes = 0;
    *chain = (cse_step_chain){ .known = false };
    if (text == NULL || sscanf(text, "%lld %64[0-9a-f]", &at, digits) != 2 || at != steps ||
        sodium_hex2bin(chain->chain, CSE_CHAIN_BYTES, digits, strlen(digits), NULL, &bytes, NULL) !=
            0 ||
        bytes != CSE_CHAIN_BYTES)
        return;
    stand_at(chain, steps);
}
