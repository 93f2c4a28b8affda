/* The contract of a command of `csengine`: its file in cli/commands ends with the descriptor.
 *
 * One table declares a command's options. The parser, --help, the man page and the completion all
 * read it, so they cannot disagree. Lines of the texts are broken where they are printed. */
#ifndef CSE_CLI_ARGUMENTS_COMMAND_H
#define CSE_CLI_ARGUMENTS_COMMAND_H

#include <stdbool.h>

#include "csengine/status.h"

typedef struct cse_option {
    const char *name;     /* "num_csx", also given as num-csx; NULL ends a table */
    const char *argument; /* "N"; NULL: a switch; "A,B": words that are one entry of a list */
    const char *path;     /* the setting of the configuration that it sets, or NULL */
    const char *doc;      /* NULL, with a path: that of the setting */
} cse_option;

typedef struct cse_command_line cse_command_line;

/* Where a command stands in the help. */
typedef enum cse_command_group {
    CSE_GROUP_NONE, /* of hidden commands alone */
    CSE_GROUP_RUN,
    CSE_GROUP_LOOK,
    CSE_GROUP_STEER,
    CSE_GROUP_MEASURE,
    CSE_GROUPS
} cse_command_group;

/* An example (a command line without "csengine", and what it does) or a file; NULL ends a table. */
typedef struct cse_command_note {
    const char *text, *doc;
} cse_command_note;

typedef struct cse_command {
    const char *name;
    cse_command_group group;
    const char *summary;
    const char *arguments; /* "CONFIG.yaml", for the usage line */
    const char *doc;       /* help beyond the summary, or NULL */
    const cse_option *options;
    const char *letters; /* short spellings: "f=follow l=label"; NULL: none */
    int min_arguments, max_arguments;
    const char *words; /* accepted first arguments, separated by '|'; NULL: any */
    /* For the completion: values of options without a path, "priority=p0|p1|p2 state=@states";
     * after @ the source of a list (completion.c). */
    const char *values;
    const cse_command_note *examples, *files; /* may be NULL */
    bool hidden;                              /* internal: not in the help, arguments not parsed */
    bool computes; /* begins only within the limits of any run (resource_limits.h) */
    /* Returns the process's exit code. */
    int (*run)(const cse_command_line *line);
} cse_command;

/* What was given, checked against the command's table. */
typedef struct cse_given_option {
    const cse_option *option;
    const char *value; /* "true" for a bare switch */
} cse_given_option;

struct cse_command_line {
    const cse_command *command;
    const char **arguments;
    int argument_count;
    cse_given_option *options; /* in the order given */
    int option_count;
    int argc; /* as the process got them, from the command's name on */
    char **argv;
};

extern const cse_command *const cse_commands[];

#endif
