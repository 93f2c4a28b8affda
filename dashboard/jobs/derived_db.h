/* What was read from the run stores of settled jobs, so that the next server need not read them: a
 * thousand stores take seconds, their table a moment.
 *
 * ROOT/derived.db, a file of its own beside jobs.db: all of it can be had again, so that it may be
 * removed at any time, is not salvaged when it is damaged, and no other version of the server has
 * to understand it. Not in the run stores: those of ended runs are not written to, and some are of
 * older versions or cannot be written.
 *
 * Each entry says which source it was read from, and carries a digest over all of it. An entry of
 * another source is as good as none; one with a wrong digest is removed, and so is a file that
 * SQLite cannot read. All functions may be called from any thread. */
#ifndef CSE_DASHBOARD_JOBS_DERIVED_DB_H
#define CSE_DASHBOARD_JOBS_DERIVED_DB_H

typedef struct cse_derived_db cse_derived_db;

typedef enum cse_derived_kind {
    CSE_DERIVED_FACTS,  /* what job_json.c shows of a run */
    CSE_DERIVED_VALUES, /* settings and figures of the series, job_values.c */
    CSE_DERIVED_AT,     /* values at the step that was asked for last; in memory alone */
    CSE_DERIVED_KINDS,
} cse_derived_kind;

/* NULL when it cannot be written: what is read is kept in memory alone, and the log says so. */
cse_derived_db *cse_derived_db_open(const char *path);
void cse_derived_db_close(cse_derived_db **db);

/* An entry by its job and kind. */
typedef struct cse_derived_key {
    const char *job;
    cse_derived_kind kind;
    const char *source; /* what it is read from, and by which program */
} cse_derived_key;

/* The content, owned by the caller; NULL: there is none of this source. */
char *cse_derived_db_read(cse_derived_db *db, const cse_derived_key *key);
/* Of whatever source it is, which is given with it, owned by the caller as well. */
char *cse_derived_db_read_any(cse_derived_db *db, const cse_derived_key *key, char **source);
/* A failure is no fault: the content is read again. */
void cse_derived_db_keep(cse_derived_db *db, const cse_derived_key *key, const char *content);
/* All of a job. */
void cse_derived_db_remove(cse_derived_db *db, const char *job);

#endif
