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
  "the page Compare": 16 * 1024,
  "the pages Compare and Sweeps": 20 * 1024,
  "the differences of texts": 6 * 1024,
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

/* The main program, and what it loads when a page is opened; what several of them need are files of
 * their own. esbuild's own hashes depend on where the packages lie: names are put in here, of each file
 * once those of all that it names are known. */
function bundleApart(entry, later, extra) {
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
  const left = new Map([...files].filter(([name]) => name.endsWith(".js")));
  const own = (name) => name.replace(/-[A-Z0-9]+\.js$|\.js$/, "");
  if (styles.length !== 1 || Object.keys(later).some((name) => !namedBy(left, own, name)))
    throw new Error(`the bundle is of other files: ${[...files.keys()].join()}`);
  const needed = neededBy(left, "main.js");
  const kindOf = (name) => {
    if (own(name) === "main") return "app";
    if (own(name) !== "chunk") return own(name);
    return needed.has(name) ? "common" : "shared";
  };
  const done = new Map();
  while (left.size > 0) {
    const free = [...left].filter(([, text]) => [...left.keys()].every((one) => !names(text, one)));
    if (free.length === 0)
      throw new Error(
        "what is loaded later loads itself: it has to be given what loads it, as a property",
      );
    for (const [name, text] of free) {
      left.delete(name);
      const told = [...done].reduce(
        (all, [known, { path }]) =>
          all.replaceAll(`"./${known}"`, `".${path.replace("/assets", "")}"`),
        text,
      );
      done.set(name, { ...asset(kindOf(name), "js", told), of: later[own(name)], text });
    }
  }
  /* Parts that only later files need are of these. */
  const all = [...done].map(([name, { text, ...file }]) =>
    kindOf(name) === "shared" ? { ...file, of: ownerOf(done, name) } : file,
  );
  const pathOf = (name) => done.get(name).path;
  return {
    css: styles[0][1],
    script: done.get("main.js"),
    needed: [...needed].map(pathOf),
    files: all,
  };
}

const names = (text, file) => text.includes(`"./${file}"`);
const namedBy = (files, own, name) => [...files.keys()].some((file) => own(file) === name);

/* What a program imports, and what that does. */
function neededBy(files, program) {
  const needed = new Set();
  const take = (text) => {
    for (const [name, more] of files) {
      if (needed.has(name) || !new RegExp(`(from|import)"\\./${name}"`).test(text)) continue;
      needed.add(name);
      take(more);
    }
  };
  take(files.get(program));
  return needed;
}

/* Of a part that several later files share the first that names it. */
const ownerOf = (files, part) =>
  [...files].find(([, { text, of }]) => of !== undefined && names(text, part))?.[1].of;

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
  const hunks = bundle("src/texts/main.ts", { format: "esm" });
  const texts = { ...asset("texts", "js", hunks.js), of: "the differences of texts" };
  const later = {
    later: "the file of later",
    compare: "the page Compare",
    cockpit: "the pages of the cockpit",
  };
  const app = bundleApart("src/main.tsx", later, {
    external: ["/assets/*"],
    define: {
      WORKER_URL: JSON.stringify(layout.path),
      EDITOR_URL: JSON.stringify(editor.path),
      EXPLORE_URL: JSON.stringify(explore.path),
      TEXTS_URL: JSON.stringify(texts.path),
      IS_REPORT: "false",
    },
  });
  const icon = asset("icon", "svg", readFileSync(join(web, "src/icon.svg")));
  const style = asset("app", "css", app.css);
  const preload = app.needed.map((path) => `<link rel="modulepreload" href="${path}">`).join("\n");
  const html = readFileSync(join(web, "src/index.html"), "utf8")
    .replace("{{icon}}", icon.path)
    .replace("{{style}}", style.path)
    .replace("{{preload}}", preload)
    .replace("{{script}}", app.script.path);
  const index = { path: "/index.html", bytes: Buffer.from(html) };
  return [index, ...app.files, style, layout, icon, editor, explore, texts];
}

/* The same pages as one file. What they show is put in place of @CSENGINE_REPORT_DATA@ by
 * `csengine report`. */
function reportFile() {
  const worker = bundle("src/graph/worker.ts", { format: "iife" });
  const app = bundle("src/main.tsx", {
    format: "iife",
    define: {
      WORKER_URL: '""',
      EDITOR_URL: '""',
      EXPLORE_URL: '""',
      TEXTS_URL: '""',
      IS_REPORT: "true",
    },
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
