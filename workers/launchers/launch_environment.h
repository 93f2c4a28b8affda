/* The environment of a started process: the inherited one with changes. */
#ifndef CSE_WORKERS_LAUNCHERS_LAUNCH_ENVIRONMENT_H
#define CSE_WORKERS_LAUNCHERS_LAUNCH_ENVIRONMENT_H

/* The process's environment with the changes ("NAME=value"; NULL-terminated, or NULL) placed before
 * the variables they override. The strings are borrowed; free() the array. */
char **cse_launch_environment(const char *const *changes);

#endif
