/* Which options of sbatch a job may be submitted with.
 *
 * They may come from strangers (a server's API), and sbatch has options that write files, change
 * the environment or run something else. So those are listed that say what is asked for: where,
 * how much, how long, on whose account. */
#ifndef CSE_WORKERS_BATCH_SLURM_OPTIONS_H
#define CSE_WORKERS_BATCH_SLURM_OPTIONS_H

#include "workers/host_launchers/words.h"

/* Adds the words of `text`, split as settings are (cse_words_split): --name=value or a switch.
 * CSE_CONFIG with the word that is not accepted, and what is. `text` may be NULL. */
cse_status cse_slurm_options_add(cse_words *words, cse_arena *arena, const char *text);

#endif
