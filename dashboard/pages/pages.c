/* The pages are one single-page application that routes by its own address, so that every path
 * without a dot in its last segment is answered with the same index. Files are held compressed and
 * unpacked for clients that do not accept gzip. */
#include "dashboard/pages/pages.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/pages/web_files.h"
#include "engine/base/arena.h"

static const char index_path[] = "/index.html";

static const char no_pages[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>csengine</title>"
    "<h1>This build has no pages</h1><p>To build them, install "
    "<code>nodejs</code> and <code>npm</code>, then run <code>configure --with-web=yes</code> and "
    "<code>make</code>. The REST API works without them: see <a href=\"/openapi.json\">"
    "/openapi.json</a>.</p></html>";

/* "/x" and "x" are the same. */
static bool is_path(const char *entry, const char *path)
{
    return strcmp(*entry == '/' ? entry + 1 : entry, path + 1) == 0;
}

static const cse_web_file *find_file(const char *path)
{
    const cse_web_file *files = cse_web_files;
    for (const cse_web_file *file = files; file != NULL && file->path != NULL; file++)
        if (is_path(file->path, path))
            return file;
    return NULL;
}

static void answer_file(const cse_web_file *file, bool takes_gzip, cse_answer *answer)
{
    cse_text text = { 0 };
    if (takes_gzip) {
        cse_answer_empty(answer, 200);
        answer->fixed_body = file->gzip;
        answer->fixed_size = file->gzip_bytes;
        cse_answer_header(answer, "Content-Encoding", "gzip");
    } else if (cse_web_file_unpack(file, &text)) {
        cse_answer_text(answer, 200, file->content_type, &text);
    } else {
        cse_text_clear(&text);
        cse_answer_problem(answer, CSE_PROBLEM_INTERNAL, "%s cannot be unpacked", file->path);
        return;
    }
    bool quoted = file->etag[0] == '"';
    answer->content_type = file->content_type;
    answer->may_cache = file->immutable;
    cse_answer_header(answer, "ETag", "%s%s%s", quoted ? "" : "\"", file->etag, quoted ? "" : "\"");
}

/* ---- from a directory, for the development of pages ---- */

static const char *type_of(const char *path)
{
    static const char *const types[][2] = { { ".html", "text/html; charset=utf-8" },
                                            { ".js", "text/javascript; charset=utf-8" },
                                            { ".css", "text/css; charset=utf-8" },
                                            { ".json", "application/json" },
                                            { ".map", "application/json" },
                                            { ".svg", "image/svg+xml" },
                                            { ".png", "image/png" } };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/* A regular file of the directory, wherever links lead. */
static bool answer_from_directory(const char *directory, const char *path, cse_answer *answer)
{
    char joined[2 * PATH_MAX], real[PATH_MAX], real_directory[PATH_MAX];
    struct stat about;
    snprintf(joined, sizeof joined, "%s%s", directory, path);
    if (realpath(directory, real_directory) == NULL || realpath(joined, real) == NULL)
        return false;
    size_t length = strlen(real_directory);
    if (strncmp(real, real_directory, length) != 0 || real[length] != '/')
        return false;
    int file = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        if (file >= 0)
            close(file);
        return false;
    }
    cse_answer_empty(answer, 200);
    answer->file = file;
    answer->file_size = about.st_size;
    answer->content_type = type_of(path);
    return true;
}

/* ---- what is asked for ---- */

/* The last name of a page's path may be one that people gave, with dots. */
static bool is_page(const char *path)
{
    const char *last = strrchr(path, '/');
    if (strncmp(path, "/sweeps/", 8) == 0)
        return true;
    return strncmp(path, "/api/", 5) != 0 && strcmp(path, "/api") != 0 && strchr(last, '.') == NULL;
}

void cse_pages_answer(const char *web_dir, const cse_request *request, cse_answer *answer)
{
    const char *path = request->path;
    if (strcmp(request->method, "GET") != 0 || strncmp(path, "/api/", 5) == 0) {
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                           "there is no such path; /openapi.json lists those there are");
        return;
    }
    const char *wanted = is_page(path) ? index_path : path;
    if (web_dir != NULL) {
        if (answer_from_directory(web_dir, wanted, answer))
            return;
    } else {
        const cse_web_file *file = find_file(wanted);
        if (file != NULL) {
            answer_file(file, request->takes_gzip, answer);
            return;
        }
        if (wanted == index_path) {
            cse_answer_empty(answer, 200);
            answer->fixed_body = no_pages;
            answer->fixed_size = sizeof no_pages - 1;
            answer->content_type = "text/html; charset=utf-8";
            return;
        }
    }
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no such file");
}
