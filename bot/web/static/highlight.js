/** Colors for code: comments, texts, numbers and words of the language, in one pass. No parser. */

import { h } from "./dom.js";

/** Longer code stays plain. */
const MAX_CHARS = 20_000;
const HASH = "#.*";
const SLASHES = String.raw`\/\/.*|\/\*[^]*?(?:\*\/|$)`;
const TEXTS = String.raw`"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?`;
const PYTHON_TEXTS = String.raw`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|${TEXTS}`;
const TICKS = "`(?:[^`\\\\]|\\\\.)*`?";
const words = (/** @type {string} */ text) => new Set(text.split(" "));

const C_LIKE =
  "break case catch class const continue default do else enum export extends false final finally for function if implements import in instanceof interface let new null private protected public return static struct super switch this throw true try type typeof undefined var void while yield async await fn impl match mod mut pub use where func go defer package range select chan map nil int string bool float double char long";

/** @type {Object<string, {comment: string, text: string, words: Set<string>}>} */
const LANGUAGES = {
  python: {
    comment: HASH,
    text: PYTHON_TEXTS,
    words: words(
      "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match case None nonlocal not or pass raise return self True try while with yield",
    ),
  },
  sh: {
    comment: HASH,
    text: TEXTS,
    words: words("if then else elif fi for in do done while until case esac function return exit export local set cd echo sudo"),
  },
  js: { comment: SLASHES, text: `${TEXTS}|${TICKS}`, words: words(C_LIKE) },
  sql: {
    comment: `--.*|${SLASHES}`,
    text: TEXTS,
    words: words(
      "select from where and or not insert into values update set delete create table index view join left right inner outer on group by order having limit offset as distinct null is in exists between like union all primary key foreign references default begin commit rollback with case when then else end",
    ),
  },
  data: { comment: HASH, text: TEXTS, words: words("true false null yes no on off") },
  json: { comment: "(?!)", text: TEXTS, words: words("true false null") },
};
const NAMES = {
  py: "python", bash: "sh", shell: "sh", zsh: "sh", console: "sh", command: "sh", javascript: "js", ts: "js",
  typescript: "js", jsx: "js", tsx: "js", c: "js", cpp: "js", java: "js", rust: "js", rs: "js", go: "js", css: "js",
  php: "js", swift: "js", kotlin: "js", toml: "data", yaml: "data", yml: "data", ini: "data", dockerfile: "sh",
};
const NUMBER = String.raw`\b\d[\w.]*\b`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;
/** @type {Map<string, RegExp>} */ const patterns = new Map();

/** @param {string} code @param {string} language @returns {(Node | string)[]} */
export function highlighted(code, language) {
  const name = language.toLowerCase().split(/[^\w+#-]/)[0];
  if (code.length > MAX_CHARS) return [code];
  if (name === "diff" || name === "patch") return diffed(code);
  const known = NAMES[name] ?? name;
  const { comment, text, words: kept } = LANGUAGES[known] ?? {};
  if (!kept) return [code];
  const pattern = patterns.get(known) ?? new RegExp(`(${comment})|(${text})|(${NUMBER})|(${WORD})`, "g");
  patterns.set(known, pattern);
  const parts = [];
  let from = 0;
  for (const found of code.matchAll(pattern)) {
    const [whole, isComment, isText, isNumber, word] = found;
    const given = known === "sql" ? word?.toLowerCase() : word;
    const look = isComment ? "comment" : isText ? "text" : isNumber ? "number" : kept.has(given) ? "word" : "";
    if (!look) continue;
    parts.push(code.slice(from, found.index), h("span", { class: `code-${look}` }, whole));
    from = found.index + whole.length;
  }
  return [...parts, code.slice(from)];
}

/** @param {string} code */
function diffed(code) {
  const looks = { "+": "text", "-": "gone", "@": "word" };
  return code.split(/(?<=\n)/).map((line) => {
    const look = looks[line[0]];
    return look ? h("span", { class: `code-${look}` }, line) : line;
  });
}
