/* The contract of a command of `csengine`: its file in cli/commands ends with the descriptor. */
#ifndef CSE_CLI_COMMAND_H
#define CSE_CLI_COMMAND_H

typedef struct cse_command {
    const char *name;
    const char *summary;
    /* argv[0] is the command's name. Returns the process's exit code. */
    int (*run)(int argc, char **argv);
} cse_command;

extern const cse_command *const cse_commands[];

#endif
