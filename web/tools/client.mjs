/* Makes the typed client of the REST API from its OpenAPI file, so that no page can ask for what
 * the server does not offer, nor read a field it does not send.
 *
 * Schemas become TypeScript types; every operation becomes one function of the object `api`, named
 * by its operationId: api.listJobs({ limit: 50 }). The functions only describe the request; how it
 * travels (fetch, or the blob inside a report) is the business of src/api/transport.ts.
 *
 * Usage: node client.mjs OPENAPI.json OUT.ts */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const METHODS = ["get", "put", "post", "patch", "delete"];
const isName = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

const typeName = (reference) => reference.split("/").pop();
const property = (name) => (isName.test(name) ? name : JSON.stringify(name));

function objectType(schema) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => `${property(name)}${required.has(name) ? "" : "?"}: ${typeOf(field)}`,
  );
  const extra = schema.additionalProperties;
  const open = extra && typeof extra === "object" ? typeOf(extra) : "unknown";
  if (fields.length === 0) return `Record<string, ${open}>`;
  return `{ ${fields.join("; ")} }`;
}

/** The TypeScript type of a JSON schema. */
export function typeOf(schema) {
  if (schema === undefined || schema === true) return "unknown";
  if (schema.$ref) return typeName(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return choices.map(typeOf).join(" | ");
  if (schema.allOf) return schema.allOf.map(typeOf).join(" & ");
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${typeOf(schema.items)}>`;
    default:
      return schema.type === "object" || schema.properties || schema.additionalProperties
        ? objectType(schema)
        : "unknown";
  }
}

const resolve = (document, item) => {
  let found = item;
  while (found?.$ref)
    found = found.$ref
      .slice(2)
      .split("/")
      .reduce((at, key) => at[key], document);
  return found;
};

/** The JSON body of the first successful answer, or void. */
function answerType(document, operation) {
  for (const [status, answer] of Object.entries(operation.responses ?? {})) {
    if (!/^2/.test(status)) continue;
    const content = resolve(document, answer).content ?? {};
    const json = Object.keys(content).find((type) => /\bjson\b/.test(type) && !/ndjson/.test(type));
    if (json) return typeOf(content[json].schema);
    if (Object.keys(content).length > 0) return "string";
  }
  return "void";
}

function bodyOf(document, operation) {
  const content = resolve(document, operation.requestBody)?.content;
  if (!content) return null;
  const types = Object.values(content).map((media) => typeOf(media.schema));
  return { type: [...new Set(types)].join(" | ") };
}

function operationText(document, path, method, item) {
  const operation = item[method];
  const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])]
    .map((parameter) => resolve(document, parameter))
    .filter((parameter) => parameter.in !== "cookie");
  const body = bodyOf(document, operation);
  const fields = parameters.map(
    (parameter) =>
      `${property(parameter.name)}${parameter.in === "path" ? "" : "?"}: ` +
      typeOf(parameter.schema),
  );
  const needed = parameters.some((parameter) => parameter.in === "path");
  const signature = `{ ${fields.join("; ")} }`;
  // A leading comma: the values of the array travel in one parameter, joined by commas.
  const names = (where) =>
    JSON.stringify(
      parameters
        .filter((p) => p.in === where)
        .map((p) => (p.explode === false ? `,${p.name}` : p.name)),
    );
  const answer = answerType(document, operation);
  const args = [`parameters: ${signature}${needed ? "" : " = {}"}`];
  if (body) args.push(`body${operation.requestBody.required ? "" : "?"}: ${body.type}`);
  args.push("options?: RequestOptions");
  return [
    `  /** ${(operation.summary ?? "").replaceAll("*/", "")} */`,
    `  ${operation.operationId}: (${args.join(", ")}): Promise<${answer}> =>`,
    `    send({ method: "${method.toUpperCase()}", path: ${JSON.stringify(path)}, parameters,`,
    `      query: ${names("query")}, headers: ${names("header")},` +
      ` body: ${body ? "body" : "undefined"}, options }) as never,`,
  ].join("\n");
}

/** The text of the client for an OpenAPI document. */
export function clientText(document) {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const operations = [];
  for (const [path, item] of Object.entries(document.paths))
    for (const method of METHODS)
      if (item[method]) operations.push(operationText(document, path, method, item));
  return [
    "/* Written by web/tools/client.mjs from the description of the API. */",
    'import { send, type RequestOptions } from "@/api/transport";',
    "",
    ...schemas.map(([name, schema]) => `export type ${name} = ${typeOf(schema)};`),
    "",
    "export const api = {",
    ...operations,
    "};",
    "",
  ].join("\n");
}

export function writeClient(openapi, out) {
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, clientText(JSON.parse(readFileSync(openapi, "utf8"))));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const here = dirname(fileURLToPath(import.meta.url));
  writeClient(
    process.argv[2] ?? `${here}/../../build/dashboard/openapi.json`,
    process.argv[3] ?? `${here}/../generated/client.ts`,
  );
}
