/* Modules of the pages' sources for tests that run in Node.js: bundled by the packages of the
 * build, so that a test calls the functions which the browser runs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const web = resolve(here, "../../web");

/** Imports `names` ("graph/fold.ts") of web/src; `modules` is where esbuild is installed. All their
 * exports in one object. */
export async function importSources(modules, names) {
  const { buildSync } = createRequire(join(resolve(modules), "x.js"))("esbuild");
  const folder = mkdtempSync(join(tmpdir(), "cse-sources-"));
  try {
    const lines = names.map((name) => `export * from ${JSON.stringify(join(web, "src", name))};`);
    const result = buildSync({
      stdin: { contents: lines.join("\n"), resolveDir: folder },
      bundle: true,
      write: false,
      format: "esm",
      platform: "node",
      jsx: "automatic",
      jsxImportSource: "preact",
      nodePaths: [resolve(modules)],
      alias: { "@": join(web, "src") },
      logLevel: "warning",
    });
    const file = join(folder, "sources.mjs");
    writeFileSync(file, result.outputFiles[0].text);
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
