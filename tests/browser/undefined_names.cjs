// Reads modules of the console as a browser would, without running them: prints, as JSON, what cannot be parsed, names
// that nothing defines, imports that lead nowhere, and what is imported or defined for nothing.
// node --expose-internals undefined_names.cjs FILE…   The parser is the one inside Node.

const fs = require("node:fs");
const path = require("node:path");
const acorn = require("internal/deps/acorn/acorn/dist/acorn");

/** Names of the language and of browsers that the console uses. */
const GLOBALS = `
  AbortController Array Blob Boolean DOMException Date Error HashChangeEvent Infinity IntersectionObserver
  Intl JSON Map Math Node NodeFilter Notification Number Object Promise RegExp ResizeObserver Set String Text TextDecoder
  URL URLSearchParams Uint8Array XMLHttpRequest caches cancelAnimationFrame clearInterval clearTimeout crypto
  decodeURIComponent document encodeURIComponent fetch getComputedStyle history localStorage location
  matchMedia navigator parseFloat performance requestAnimationFrame self sessionStorage setInterval setTimeout
  undefined window
`;
const files = process.argv.slice(2);
const found = [];
const modules = new Map(files.map((file) => [path.resolve(file), parsed(file)]));

function parsed(file) {
  try {
    const options = { ecmaVersion: "latest", sourceType: "module", locations: true };
    return acorn.parse(fs.readFileSync(file, "utf8"), options);
  } catch (error) {
    found.push(`${path.basename(file)}: ${error.message}`);
    return null;
  }
}

class Scope {
  constructor(outer, file) {
    this.outer = outer;
    this.file = file;
    this.names = new Map();
  }

  define(node, kind) {
    this.names.set(node.name, { node, kind, used: this.names.get(node.name)?.used ?? false });
  }

  use(node) {
    for (let scope = this; scope; scope = scope.outer) {
      const known = scope.names.get(node.name);
      if (known) return (known.used = true);
    }
    return report(this.file, node, `${node.name} is not defined`);
  }

  close() {
    for (const [name, { node, kind, used }] of this.names)
      if (!used && kind !== "parameter") report(this.file, node, `${name} is not used`);
  }
}

function report(file, node, words) {
  found.push(`${path.basename(file)}:${node.loc.start.line}: ${words}`);
}

/** Defines the names of a pattern. */
function define(pattern, scope, kind) {
  switch (pattern?.type) {
    case "Identifier":
      return scope.define(pattern, kind);
    case "ObjectPattern":
      return pattern.properties.forEach((one) => define(one.value ?? one.argument, scope, kind));
    case "ArrayPattern":
      return pattern.elements.forEach((one) => define(one, scope, kind));
    case "AssignmentPattern":
      return define(pattern.left, scope, kind);
    case "RestElement":
      return define(pattern.argument, scope, kind);
    default:
      return undefined;
  }
}

/** What a block defines is known in all of it. */
function hoist(statements, scope) {
  for (const statement of statements) {
    const one = statement.declaration ?? statement;
    const kind = statement.type.startsWith("Export") ? "exported" : "local";
    const before = new Set(scope.names.keys());
    if (one.type === "VariableDeclaration") one.declarations.forEach(({ id }) => define(id, scope, kind));
    else if (/^(Function|Class)Declaration$/.test(one.type) && one.id) scope.define(one.id, kind);
    else if (one.type === "ImportDeclaration") one.specifiers.forEach(({ local }) => scope.define(local, "import"));
    if (kind === "exported")
      for (const [name, known] of scope.names) if (!before.has(name)) known.used = true;
  }
}

const isNode = (value) => typeof value?.type === "string";
const SCOPED = /^(BlockStatement|For\w*Statement|SwitchStatement|StaticBlock)$/;

function walk(node, scope) {
  const visit = KINDS[node.type];
  if (visit) return visit(node, scope);
  if (SCOPED.test(node.type)) {
    const inner = new Scope(scope, scope.file);
    const first = node.init ?? node.left;
    const body = Array.isArray(node.body) ? node.body : (node.cases ?? []).flatMap((one) => one.consequent);
    hoist(first?.type === "VariableDeclaration" ? [first, ...body] : body, inner);
    children(node, inner);
    return inner.close();
  }
  return children(node, scope);
}

function children(node, scope, but = []) {
  for (const [key, value] of Object.entries(node)) {
    if (but.includes(key)) continue;
    for (const one of Array.isArray(value) ? value : [value]) if (isNode(one)) walk(one, scope);
  }
}

function callable(node, scope) {
  const inner = new Scope(scope, scope.file);
  if (node.type === "FunctionExpression" && node.id) inner.define(node.id, "parameter");
  inner.define({ name: "arguments" }, "parameter");
  for (const one of node.params) define(one, inner, "parameter");
  for (const one of node.params) defaults(one, inner);
  walk(node.body, inner);
  return inner.close();
}

/** The default values and computed keys in a pattern that defines names. */
function defaults(pattern, scope) {
  switch (pattern?.type) {
    case "AssignmentPattern":
      return [walk(pattern.right, scope), defaults(pattern.left, scope)];
    case "ObjectPattern":
      return pattern.properties.forEach((one) => {
        if (one.computed) walk(one.key, scope);
        defaults(one.value ?? one.argument, scope);
      });
    case "ArrayPattern":
      return pattern.elements.forEach((one) => defaults(one, scope));
    case "RestElement":
      return defaults(pattern.argument, scope);
    default:
      return undefined;
  }
}

const named = (node, scope) => children(node, scope, node.computed ? [] : ["key"]);
const KINDS = {
  Identifier: (node, scope) => scope.use(node),
  MemberExpression: (node, scope) => {
    const read = node.object.type === "AwaitExpression" && node.object.argument;
    if (read?.type === "ImportExpression") imported(read.source.value, [node.property], scope.file, node);
    children(node, scope, node.computed ? [] : ["property"]);
  },
  Property: named,
  MethodDefinition: named,
  PropertyDefinition: named,
  LabeledStatement: (node, scope) => walk(node.body, scope),
  BreakStatement: () => {},
  ContinueStatement: () => {},
  MetaProperty: () => {},
  ImportDeclaration: (node, scope) => {
    const asked = node.specifiers.filter((one) => one.imported).map((one) => one.imported);
    imported(node.source.value, asked, scope.file, node);
  },
  ExportNamedDeclaration: (node, scope) => {
    if (node.declaration) walk(node.declaration, scope);
    else if (!node.source) node.specifiers.forEach(({ local }) => scope.use(local));
  },
  VariableDeclarator: (node, scope) => {
    defaults(node.id, scope);
    if (node.init) walk(node.init, scope);
  },
  CatchClause: (node, scope) => {
    const inner = new Scope(scope, scope.file);
    define(node.param, inner, "parameter");
    walk(node.body, inner);
  },
  FunctionDeclaration: callable,
  FunctionExpression: callable,
  ArrowFunctionExpression: callable,
  ClassDeclaration: (node, scope) => children(node, scope, ["id"]),
};

function imported(source, names, file, node) {
  const target = path.resolve(path.dirname(file), source);
  if (!modules.has(target)) return report(file, node, `${source} is no module`);
  const given = exported(modules.get(target));
  for (const { name, loc } of names) if (!given.has(name)) report(file, { loc }, `${source} exports no ${name}`);
  return undefined;
}

function exported(tree) {
  const scope = new Scope(null, "");
  hoist((tree?.body ?? []).filter((one) => one.type === "ExportNamedDeclaration"), scope);
  const listed = (tree?.body ?? []).flatMap((one) => one.specifiers ?? []).map((one) => one.exported?.name);
  return new Set([...scope.names.keys(), ...listed]);
}

const everywhere = new Scope(null, "");
for (const name of GLOBALS.trim().split(/\s+/)) everywhere.define({ name }, "parameter");
for (const [file, tree] of modules) {
  if (!tree) continue;
  const scope = new Scope(everywhere, file);
  hoist(tree.body, scope);
  children(tree, scope);
  scope.close();
}
console.log(JSON.stringify(found));
