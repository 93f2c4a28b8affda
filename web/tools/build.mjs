/* Bundles the pages: TypeScript and CSS in, files with content-hash names out, gzipped, within a
 * budget. scripts/build_web.sh makes a C table of them, which the server embeds.
 *
 * Nothing is written beside the sources, which may be read-only: the typed client and the bundle go
 * to --out, the packages are taken from --modules.
 *
 * Usage: node build.mjs [--out DIR] [--modules DIR] [--openapi FILE] */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { writeClient } from "./client.mjs";
import { writePages } from "./pages.mjs";

/* Gzipped bytes: of what every page loads, and of what one page alone does, when it is opened. */
const BUDGETS = {
  "every page": 120 * 1024,
  "the page Step graph": 30 * 1024,
  "the page Submit": 160 * 1024,
  "the file of later": 24 * 1024,
  "the pages of the cockpit": 32 * 1024,
  "the pages Compare and Sweeps": 20 * 1024,
};
const web = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const { values: options } = parseArgs({
  options: {
    out: { type: "string", default: join(web, "dist") },
    modules: { type: "string", default: join(web, "node_modules") },
    openapi: { type: "string", default: join(web, "../build/dashboard/openapi.json") },
  },
});
const out = resolve(options.out);
const modules = resolve(options.modules);
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const shared = {
  bundle: true,
  minify: true,
  target: ["chrome110", "firefox110", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  nodePaths: [modules],
  alias: { "@": join(web, "src"), "@generated": join(out, "generated") },
  legalComments: "none",
  logLevel: "warning",
  absWorkingDir: web,
};

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 12);

function bundle(entry, extra = {}) {
  const result = esbuild.buildSync({
    ...shared,
    entryPoints: [join(web, entry)],
    write: false,
    outdir: out,
    ...extra,
  });
  const text = (suffix) => result.outputFiles.find((file) => file.path.endsWith(suffix))?.text;
  return { js: text(".js") ?? "", css: text(".css") ?? "" };
}

/* The main program, and what it loads when a page is opened, by name; what several of them need are
 * files of their own. */
const APART = ["later.js", "cockpit.js"];

function bundleApart(entry, extra) {
  const { outputFiles } = esbuild.buildSync({
    ...shared,
    entryPoints: [join(web, entry)],
    write: false,
    outdir: out,
    format: "esm",
    splitting: true,
    entryNames: "[name]",
    chunkNames: "[name]-[hash]",
    ...extra,
  });
  const files = new Map(outputFiles.map((file) => [basename(file.path), file.text]));
  const styles = [...files].filter(([name]) => name.endsWith(".css"));
  const scripts = new Map([...files].filter(([name]) => name.endsWith(".js")));
  /* A chunk of an import is named as the file that is imported. */
  for (const wanted of APART) {
    const found = [...scripts.keys()].find(
      (name) => name.replace(/-[A-Z0-9]+\.js$/, ".js") === wanted,
    );
    if (!found) throw new Error(`the bundle has no ${wanted}: ${[...scripts.keys()].join()}`);
    const text = scripts.get(found);
    scripts.delete(found);
    for (const [name, other] of scripts)
      scripts.set(name, other.replaceAll(`"./${found}"`, `"./${wanted}"`));
    scripts.set(wanted, text);
  }
  if (styles.length !== 1) throw new Error("the bundle has not one file of styles");
  return { css: styles[0][1], scripts };
}

/* Gives each script the name of its content, once those that it loads have theirs: esbuild's own
 * hashes depend on where the packages lie. */
function nameScripts(scripts) {
  const named = new Map();
  const label = (name) =>
    ({ "main.js": "app", "later.js": "later", "cockpit.js": "cockpit" })[name] ?? "common";
  while (named.size < scripts.size) {
    const next = [...scripts].find(
      ([name, text]) =>
        !named.has(name) &&
        [...scripts.keys()].every((other) => named.has(other) || !text.includes(`"./${other}"`)),
    );
    if (!next)
      throw new Error(
        "what later.ts or cockpit.ts needs loads it: it has to be given what loads it, as a property",
      );
    let [name, text] = next;
    for (const [other, file] of named)
      text = text.replaceAll(`"./${other}"`, JSON.stringify(file.path.replace("/assets/", "./")));
    named.set(name, asset(label(name), "js", text));
  }
  return named;
}

/* What the first page needs of them: all that main.js imports, directly or by another. */
function neededAtFirst(scripts) {
  const needed = new Set(["main.js"]);
  for (const name of needed)
    for (const other of scripts.keys())
      if (!APART.includes(other) && scripts.get(name).includes(`"./${other}"`)) needed.add(other);
  return needed;
}

function asset(name, extension, text) {
  const bytes = Buffer.from(text);
  return { path: `/assets/${name}.${hash(bytes)}.${extension}`, bytes };
}

function pageFiles() {
  const worker = bundle("src/graph/worker.ts", { format: "iife" });
  const layout = { ...asset("layout", "js", worker.js), of: "the page Step graph" };
  const code = bundle("src/editor/main.ts", { format: "esm" });
  const editor = { ...asset("editor", "js", code.js), of: "the page Submit" };
  const drawn = bundle("src/explore/main.ts", { format: "esm" });
  const explore = { ...asset("explore", "js", drawn.js), of: "the pages Compare and Sweeps" };
  const app = bundleApart("src/main.tsx", {
    external: ["/assets/*"],
    define: {
      WORKER_URL: JSON.stringify(layout.path),
      EDITOR_URL: JSON.stringify(editor.path),
      EXPLORE_URL: JSON.stringify(explore.path),
      IS_REPORT: "false",
    },
  });
  const icon = asset("icon", "svg", readFileSync(join(web, "src/icon.svg")));
  const named = nameScripts(app.scripts);
  const first = neededAtFirst(app.scripts);
  const of = { "later.js": "the file of later", "cockpit.js": "the pages of the cockpit" };
  for (const [name, file] of named)
    if (!first.has(name)) file.of = of[name] ?? "the pages of the cockpit";
  const script = named.get("main.js");
  const preloads = [...named]
    .filter(([name]) => first.has(name) && name !== "main.js")
    .map(([, file]) => `<link rel="modulepreload" href="${file.path}">`);
  const style = asset("app", "css", app.css);
  const html = readFileSync(join(web, "src/index.html"), "utf8")
    .replace("{{icon}}", icon.path)
    .replace("{{style}}", style.path)
    .replace("{{preloads}}", preloads.join("\n"))
    .replace("{{script}}", script.path);
  const index = { path: "/index.html", bytes: Buffer.from(html) };
  return [index, ...named.values(), style, layout, icon, editor, explore];
}

/* The same pages as one file. What they show is put in place of @CSENGINE_REPORT_DATA@ by
 * `csengine report`. */
function reportFile() {
  const worker = bundle("src/graph/worker.ts", { format: "iife" });
  const app = bundle("src/main.tsx", {
    format: "iife",
    define: { WORKER_URL: '""', EDITOR_URL: '""', EXPLORE_URL: '""', IS_REPORT: "true" },
  });
  const inline = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const fill = (text, name, value) => text.replace(`{{${name}}}`, () => value);
  let html = readFileSync(join(web, "src/report.html"), "utf8");
  html = fill(html, "style", app.css);
  html = fill(html, "worker", inline(worker.js));
  html = fill(html, "script", inline(app.js));
  return { path: "/report.html", bytes: Buffer.from(html) };
}

/* Writes every file; the bytes by what loads them. */
function finish(files) {
  const total = Object.fromEntries(Object.keys(BUDGETS).map((name) => [name, 0]));
  for (const file of files) {
    file.gzip = gzipSync(file.bytes, { level: 9 });
    if (file.path !== "/report.html") total[file.of ?? "every page"] += file.gzip.length;
    const path = join(out, file.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file.bytes);
  }
  return total;
}

for (const old of ["assets", "index.html", "report.html"])
  rmSync(join(out, old), { recursive: true, force: true });
writeClient(options.openapi, join(out, "generated/client.ts"));
writePages(join(out, "generated/pages.ts"));
const files = [...pageFiles(), reportFile()];
const total = finish(files);
for (const file of files)
  console.log(`${String(file.gzip.length).padStart(8)} bytes gzipped  ${file.path}`);
let isOver = false;
for (const [what, budget] of Object.entries(BUDGETS)) {
  const bytes = total[what];
  console.log(`${String(bytes).padStart(8)} bytes of ${budget}: ${what}`);
  if (bytes <= budget) continue;
  isOver = true;
  console.error(`over the budget of ${budget} bytes gzipped: ${what}`);
}
if (isOver) process.exit(1);
