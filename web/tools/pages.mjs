/* The list of the pages that are there: each file of src/pages that exports `page`.
 *
 * Usage: node pages.mjs [OUT] */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const web = join(dirname(fileURLToPath(import.meta.url)), "..");

function pageNames() {
  const folder = join(web, "src/pages");
  return readdirSync(folder)
    .filter((file) => file.endsWith(".tsx"))
    .filter((file) => /^export const page\b/m.test(readFileSync(join(folder, file), "utf8")))
    .map((file) => file.slice(0, -".tsx".length))
    .sort();
}

export function writePages(out) {
  const names = pageNames();
  const lines = [
    "/* Written by web/tools/pages.mjs from the files of src/pages. */",
    'import type { PageEntry } from "@/frame/page";',
    ...names.map((name) => `import { page as ${name} } from "@/pages/${name}";`),
    "",
    `export const found: PageEntry[] = [${names.join(", ")}];`,
    "",
  ];
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, lines.join("\n"));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writePages(process.argv[2] ?? join(web, "generated/pages.ts"));
