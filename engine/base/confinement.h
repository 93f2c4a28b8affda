/* What a job may touch that somebody else asked for: the folders below which it may read input,
 * write output, load libraries, and run programs.
 *
 * It is a value: a server checks the paths of a configuration against it, and the processes of the
 * job make it their own (cse_confine). Every place that opens a path of a setting does so by the
 * functions here; in a process that is not confined they are open(2).
 *
 * dashboard/checks/job_limits.c writes it as options of `csengine start`, cli/arguments/confine.c
 * reads them, and workers get it in the WELCOME message. Each process also enters the sandbox
 * (sandbox.h) before the job's input is read or its code is loaded. */
#ifndef CSE_BASE_CONFINEMENT_H
#define CSE_BASE_CONFINEMENT_H

#include <stdio.h>
#include <sys/types.h>

#include "engine/base/text.h"

typedef enum cse_path_use {
    CSE_PATH_INPUT,   /* data files, checkpoints to start from */
    CSE_PATH_OUTPUT,  /* what loggers and the compiler write; the job's own folder is the first */
    CSE_PATH_LIBRARY, /* shared objects of models */
    CSE_PATH_PROGRAM  /* executables that are jobs of their own */
} cse_path_use;
enum { CSE_PATH_USES = 4 };

typedef struct cse_confinement cse_confinement;

cse_confinement *cse_confinement_new(void);
void cse_confinement_destroy(cse_confinement **confinement);

/* Adds a folder, which must exist: CSE_NO_INPUT. Relative paths of output are taken from the first
 * folder for output. */
cse_status cse_confinement_allow(cse_confinement *confinement, cse_path_use use,
                                 const char *folder);
/* The same for a folder whose own files are nobody's input, but what its subfolders hold is: that
 * of a queue, where the server keeps its table and token. */
cse_status cse_confinement_allow_queue(cse_confinement *confinement, const char *folder);
/* Adds the folders in which Debian's packages put data; those that are missing are left out. */
void cse_confinement_allow_data_sets(cse_confinement *confinement);

/* The job may have processes on other hosts, which the operator allows for one whose place a
 * cluster's scheduler chooses. Then what its leading process and the agents start cannot be held by
 * the kernel (they start programs elsewhere); their workers are. */
void cse_confinement_allow_hosts(cse_confinement *confinement);
bool cse_confinement_allows_hosts(const cse_confinement *confinement);

/* The job's environment keeps this variable besides those of job_environment.h. CSE_USAGE: it is no
 * name. Processes on other hosts are not told of it. */
cse_status cse_confinement_allow_variable(cse_confinement *confinement, const char *name);
int cse_confinement_variable_count(const cse_confinement *confinement);
/* Borrowed. */
const char *cse_confinement_variable(const cse_confinement *confinement, int index);

int cse_confinement_count(const cse_confinement *confinement, cse_path_use use);
/* The real path of a folder. Borrowed. */
const char *cse_confinement_folder(const cse_confinement *confinement, cse_path_use use, int index);

/* Its name as it was given. Borrowed. */
const char *cse_confinement_name(const cse_confinement *confinement, cse_path_use use, int index);

/* Whether the folder for input is that of a queue. */
bool cse_confinement_is_queue(const cse_confinement *confinement, int index);

/* CSE_OK when the path is written as one below an allowed folder, without "..". Where it really
 * leads is checked when it is opened. Else it fails with CSE_CONFIG and says what is accepted.
 * Always CSE_OK with NULL. */
cse_status cse_confinement_check(const cse_confinement *confinement, cse_path_use use,
                                 const char *path);

/* For another process of the same version, in one line. The decoded value is the caller's; a folder
 * that this host does not have is left out. */
void cse_confinement_encode(const cse_confinement *confinement, cse_text *text);
cse_status cse_confinement_decode(const char *text, cse_confinement **confinement);

/* ---- of this process ---- */

/* From here on this process opens paths of settings below these folders alone. Borrowed: it must
 * live to the end of the process. */
void cse_confine(const cse_confinement *confinement);
/* NULL: this process is not confined. */
const cse_confinement *cse_confinement_view(void);

/* Its folders are opened again by their names: what is mounted there has changed. */
cse_status cse_confinement_reopen(void);

/* As open(2), with O_CLOEXEC. -1 with errno EXDEV: the path is not, or does not lead, below an
 * allowed folder. */
int cse_confined_open(cse_path_use use, const char *path, int flags, mode_t mode);
/* A stream to write to a new file or the end of one (O_EXCL, O_APPEND); NULL with errno. */
FILE *cse_confined_stream(const char *path, int flags);
/* Makes a directory for output, and those above it; 0, or -1 with errno. */
int cse_confined_make_directories(const char *path);
/* Fails with CSE_PERMISSION and what is accepted, after EXDEV. */
cse_status cse_confinement_refuse(cse_path_use use, const char *path);
/* Whether this process may run that program, which a confined one may of its folders alone:
 * CSE_PERMISSION and what is accepted, CSE_NO_INPUT. */
cse_status cse_confined_program(const char *program);
/* Where a relative path of output leads. Cut to `size`; returns `to`. */
const char *cse_confined_output(const char *path, char *to, size_t size);

#endif
