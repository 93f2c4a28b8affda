/* `--confine`: a job that somebody else asked for, and the folders it may use. */
#ifndef CSE_CLI_ARGUMENTS_CONFINE_H
#define CSE_CLI_ARGUMENTS_CONFINE_H

#include "cli/arguments/command_line.h"
#include "engine/base/arena.h"

/* clang-format off */
#define CSE_CONFINED_OPTIONS                                                                      \
    { "data_root", "DIR", NULL,                                                                   \
      "with --confine: input is read below DIR; repeatable; default: the data sets of Debian" },  \
    { "output_root", "DIR", NULL, "with --confine: output may lie below DIR, too; repeatable" },  \
    { "allow_library", "DIR", NULL,                                                               \
      "with --confine: libraries of plugins may lie below DIR; repeatable; default: nowhere" },    \
    { "allow_program", "DIR", NULL,                                                               \
      "with --confine: a program that is run may lie below DIR; repeatable; default: nowhere" },  \
    { "job_environment", "NAME", NULL,                                                            \
      "with --confine: the job keeps this environment variable, too; repeatable" },               \
    { "allow_hosts", NULL, NULL,                                                                  \
      "with --confine: the job may use the hosts of its place; its workers are held there" },     \
    { "queue_root", "DIR", NULL,                                                                  \
      "with --confine: the queue of the job, whose other jobs it may read; given by serve" }
#define CSE_CONFINE_OPTIONS                                                                       \
    { "confine", NULL, NULL,                                                                      \
      "restricts the job to --model_dir, which must be given, and the folders below" },           \
    CSE_CONFINED_OPTIONS
/* clang-format on */

/* Confines this process if the command line asks for it, before it reads the configuration; makes
 * model_dir. */
cse_status cse_confine_if_asked(const cse_command_line *line);

/* The options above as they were given, for the `csengine start` of a replay, whose folder is its
 * own: ended by NULL, in the arena; NULL: it is not confined. CSE_USAGE without --confine. */
cse_status cse_confine_words(const cse_command_line *line, cse_arena *arena, const char ***words);

#endif
