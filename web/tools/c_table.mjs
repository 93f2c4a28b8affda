/* The bundled files as a C table, gzipped: what dashboard/web_files.h declares. Without arguments
 * it prints the table of a build that has no pages.
 *
 * The bytes are octal escapes in string literals: every compiler takes them, quicker than numbers.
 */
import { fileURLToPath } from "node:url";

const LINE_BYTES = 24;

function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += LINE_BYTES) {
    const part = bytes.subarray(at, at + LINE_BYTES);
    lines.push(`    "${Array.from(part, (b) => `\\${b.toString(8).padStart(3, "0")}`).join("")}"`);
  }
  return lines.length > 0 ? lines.join("\n") : '    ""';
}

/** The text of the C file for `files` of { path, type, etag, immutable, gzip }. */
export function cTable(files) {
  const blobs = files.map((file, i) => `static const char blob_${i}[] =\n${literal(file.gzip)};\n`);
  const rows = files.map(
    (file, i) =>
      `    { .path = "${file.path}",\n      .content_type = "${file.type}",\n` +
      `      .etag = "\\"${file.etag}\\"",\n      .immutable = ${file.immutable},\n` +
      `      .gzip = blob_${i},\n      .gzip_bytes = ${file.gzip.length} },`,
  );
  return [
    "/* Written by web/tools/build.mjs: the dashboard's pages. */",
    '#include "dashboard/web_files.h"',
    "",
    ...blobs,
    "const cse_web_file cse_web_files[] = {",
    ...rows,
    "    { .path = NULL },",
    "};",
    "",
  ].join("\n");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.stdout.write(cTable([]));
