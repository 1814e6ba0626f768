/** Formulas written in TeX, as MathML, which browsers draw by themselves. What is not known here stays TeX. */

import { h, mathNode } from "./dom.js";

const words = (/** @type {string} */ text) => new Map(text.trim().split(/\s+/).map((pair) => /** @type {[string, string]} */ (pair.split("="))));

const LETTERS = words(`alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι
  kappa=κ lambda=λ mu=μ nu=ν xi=ξ pi=π varpi=ϖ rho=ρ varrho=ϱ sigma=σ varsigma=ς tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ
  psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω infty=∞ ell=ℓ hbar=ℏ
  emptyset=∅ varnothing=∅ Re=ℜ Im=ℑ aleph=ℵ`);
const SIGNS = words(`times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ otimes=⊗ le=≤ leq=≤ ge=≥ geq=≥
  ne=≠ neq=≠ approx=≈ equiv=≡ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃
  supseteq=⊇ cup=∪ cap=∩ setminus=∖ land=∧ wedge=∧ lor=∨ vee=∨ neg=¬ lnot=¬ forall=∀ exists=∃ nexists=∄ to=→
  rightarrow=→ leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ iff=⇔ implies=⇒ mapsto=↦ mid=∣
  parallel=∥ perp=⊥ angle=∠ triangle=△ partial=∂ nabla=∇ dots=… ldots=… cdots=⋯ vdots=⋮ ddots=⋱ prime=′ langle=⟨ rangle=⟩
  lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ lbrace={ rbrace=} vert=| Vert=‖ colon=: therefore=∴ because=∵`);
/** Signs with their limits above and below. */
const LARGE = words("sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ bigoplus=⨁ bigotimes=⨂ int=∫ iint=∬ iiint=∭ oint=∮");
const NAMES = new Set("sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp lim max min sup inf det dim ker gcd deg arg Pr mod".split(" "));
const BELOW = new Set(["lim", "max", "min", "sup", "inf"]);
const SPACES = new Map([[",", "0.17em"], [":", "0.22em"], [";", "0.28em"], [" ", "0.33em"], ["quad", "1em"], ["qquad", "2em"], ["!", "0"]]);
const ACCENTS = words("hat=^ widehat=^ bar=¯ overline=¯ vec=→ tilde=~ widetilde=~ dot=˙ ddot=¨");
const FACES = new Map([["mathbb", "double-struck"], ["mathbf", "bold"], ["boldsymbol", "bold"], ["mathcal", "script"], ["mathfrak", "fraktur"], ["mathsf", "sans-serif"]]);
const UPRIGHT = new Set(["text", "textrm", "textbf", "mathrm", "operatorname"]);
const FENCES = new Map([["pmatrix", "()"], ["bmatrix", "[]"], ["vmatrix", "||"], ["cases", "{"], ["matrix", ""], ["aligned", ""], ["align", ""], ["align*", ""]]);
/** First letters of faces in Unicode; a face without one is drawn by its style. */
const FACE_LETTERS = new Map([["double-struck", [0x1d538, 0x1d552]], ["bold", [0x1d400, 0x1d41a]], ["script", [0x1d49c, 0x1d4b6]], ["fraktur", [0x1d504, 0x1d51e]], ["sans-serif", [0x1d5a0, 0x1d5ba]]]);
const HOLES = words("ℂ=1d53a ℍ=1d53f ℕ=1d545 ℙ=1d547 ℚ=1d548 ℝ=1d549 ℤ=1d551 ℬ=1d49d ℰ=1d4a0 ℱ=1d4a1 ℋ=1d4a3 ℐ=1d4a4 ℒ=1d4a7 ℳ=1d4a8 ℛ=1d4ad ℭ=1d506 ℌ=1d50b ℑ=1d50c ℜ=1d515 ℨ=1d51d");
const FILLED = new Map([...HOLES].map(([letter, code]) => [Number(`0x${code}`), letter]));
const TOKEN = /\\(?:[A-Za-z]+\*?|[^])|\d+(?:\.\d+)?|\s+|[^]/g;
const MAX_CHARS = 4_000;
const MAX_DEPTH = 40;

/** A text in Markdown with formulas: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, but no amounts of money or names of variables. */
const FORMULA = new RegExp(
  [
    String.raw`\$\$([^$]+)\$\$`,
    String.raw`\\\[([^]{1,1000}?)\\\]`,
    String.raw`\$(?![\s$])([^$\n]*[^\s$])\$(?![\w{(])`,
    String.raw`\\\(([^\n]{1,1000}?)\\\)`,
  ].join("|"),
  "g",
);
const MAX_SOURCE_CHARS = 50_000;
const MAX_FORMULAS = 200;
const ESCAPED = /\\([!-/:-@[-`{-~])/g;
const INDENT = /[ \t]*\n[ \t]*/g;
const SPECIAL = /[$()*+.?[\\\]^{|}]/g;

/**
 * Draws the formulas of a text that is shown. Markdown takes signs of TeX for its own: they are sought as they came out
 * of it, and drawn as they were written.
 * @param {Element} view @param {string} source
 */
export function drawFormulas(view, source) {
  /** @type {Map<string, {tex: string, block: boolean}>} */ const known = new Map();
  for (const [whole, ...parts] of source.slice(0, MAX_SOURCE_CHARS).matchAll(FORMULA)) {
    const at = parts.findIndex((part) => part !== undefined);
    if (known.size < MAX_FORMULAS) known.set(whole.replace(ESCAPED, "$1").replace(INDENT, "\n"), { tex: parts[at], block: at < 2 });
  }
  if (!known.size) return;
  const longestFirst = [...known.keys()].sort((one, other) => other.length - one.length);
  const sought = new RegExp(`(${longestFirst.map((one) => one.replace(SPECIAL, "\\$&")).join("|")})`);
  const texts = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  /** @type {Text[]} */ const nodes = [];
  while (texts.nextNode()) nodes.push(/** @type {Text} */ (texts.currentNode));
  for (const node of nodes) {
    const parts = node.parentElement?.closest("code, a") ? [] : node.data.split(sought);
    if (parts.length > 1) node.replaceWith(...parts.map((part) => drawn(part, known.get(part))));
  }
}

/** @param {string} text @param {{tex: string, block: boolean} | undefined} formula */
function drawn(text, formula) {
  const math = formula && mathView(formula.tex, formula.block);
  if (!math) return text;
  return formula.block ? h("span", { class: "formula scroll-x", tabindex: "0", role: "region", "aria-label": "Formula" }, math) : math;
}

/** A formula; null if it is not understood. @param {string} tex @param {boolean} block */
function mathView(tex, block) {
  if (tex.length > MAX_CHARS) return null;
  try {
    const reader = new Reader(tex.match(TOKEN) ?? []);
    const nodes = reader.row(() => false);
    const props = { alttext: tex, ...(block ? { display: "block" } : {}) };
    return mathNode("math", props, mathNode("mrow", {}, ...nodes));
  } catch {
    return null;
  }
}

class Reader {
  #at = 0;
  #depth = 0;

  /** @param {string[]} tokens */
  constructor(tokens) {
    this.tokens = tokens;
  }

  /** @returns {string | undefined} */
  get #next() {
    while (/^\s/.test(this.tokens[this.#at] ?? "")) this.#at++;
    return this.tokens[this.#at];
  }

  #take() {
    const token = this.#next;
    this.#at++;
    if (token === undefined) throw new Error("it ends too early");
    return token;
  }

  /** @param {string} wanted */
  #expect(wanted) {
    if (this.#take() !== wanted) throw new Error(`no ${wanted}`);
  }

  /** What comes until the end, or until a token that ends it. @param {(token: string) => boolean} ends */
  row(ends) {
    if (++this.#depth > MAX_DEPTH) throw new Error("it is too deep");
    const nodes = [];
    for (let token = this.#next; token !== undefined && !ends(token); token = this.#next) nodes.push(this.#scripted());
    this.#depth--;
    return nodes;
  }

  /** One thing with what stands at its corners. */
  #scripted() {
    const large = LARGE.has((this.#next ?? "").slice(1)) || BELOW.has((this.#next ?? "").slice(1));
    const base = this.#one();
    /** @type {Node | null} */ let below = null;
    /** @type {Node | null} */ let above = null;
    for (let token = this.#next; token === "_" || token === "^" || token === "'"; token = this.#next) {
      this.#at++;
      if (token === "_" && !below) below = this.#one();
      else if (token !== "_" && !above) above = token === "'" ? mathNode("mo", {}, "′") : this.#one();
      else throw new Error("two at one corner");
    }
    const kind = large ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return mathNode(kind[2], {}, base, below, above);
    if (below) return mathNode(kind[0], {}, base, below);
    return above ? mathNode(kind[1], {}, base, above) : base;
  }

  /** @returns {Element} */
  #one() {
    const token = this.#take();
    if (token === "{") {
      const nodes = this.row((one) => one === "}");
      this.#expect("}");
      return mathNode("mrow", {}, ...nodes);
    }
    if (token === "}" || token === "&" || token === "^" || token === "_" || token === "\\\\") throw new Error(`a ${token}`);
    if (token.startsWith("\\")) return this.#command(token.slice(1));
    if (/^\d/.test(token)) return mathNode("mn", {}, token);
    return mathNode(/^\p{L}$/u.test(token) ? "mi" : "mo", {}, token === "-" ? "−" : token);
  }

  /** @param {string} name @returns {Element} */
  #command(name) {
    const known = LETTERS.get(name);
    if (known) return mathNode("mi", {}, known);
    const sign = SIGNS.get(name) ?? LARGE.get(name) ?? ("{}%$#&_|".includes(name) ? name : "");
    if (sign) return mathNode("mo", {}, sign);
    if (NAMES.has(name)) return mathNode(BELOW.has(name) ? "mo" : "mi", {}, name);
    const width = SPACES.get(name);
    if (width !== undefined) return mathNode("mspace", { width });
    if (UPRIGHT.has(name)) return mathNode("mtext", {}, this.#text());
    const accent = ACCENTS.get(name);
    if (accent) return mathNode("mover", { accent: "true" }, this.#one(), mathNode("mo", {}, accent));
    const face = FACES.get(name);
    if (face) return mathNode("mi", {}, faced(this.#text(), face));
    return this.#structure(name);
  }

  /** @param {string} name @returns {Element} */
  #structure(name) {
    switch (name) {
      case "frac":
      case "dfrac":
      case "tfrac":
        return mathNode("mfrac", {}, this.#one(), this.#one());
      case "binom":
        return fenced("(", [mathNode("mfrac", { linethickness: "0" }, this.#one(), this.#one())], ")");
      case "sqrt":
        return this.#root();
      case "left": {
        const open = this.#fence();
        const nodes = this.row((one) => one === "\\right");
        this.#expect("\\right");
        return fenced(open, nodes, this.#fence());
      }
      case "begin":
        return this.#table();
      default:
        throw new Error(`\\${name} is unknown`);
    }
  }

  #root() {
    if (this.#next !== "[") return mathNode("msqrt", {}, this.#one());
    this.#at++;
    const index = this.row((one) => one === "]");
    this.#expect("]");
    return mathNode("mroot", {}, this.#one(), mathNode("mrow", {}, ...index));
  }

  #fence() {
    const token = this.#take();
    const name = token.startsWith("\\") ? token.slice(1) : token;
    return name === "." ? "" : (SIGNS.get(name) ?? name);
  }

  /** What stands in braces, as it is. */
  #text() {
    this.#expect("{");
    const end = this.tokens.indexOf("}", this.#at);
    if (end < 0) throw new Error("no end");
    const text = this.tokens.slice(this.#at, end).join("");
    this.#at = end + 1;
    return text.replace(/^ | $/g, "\u00a0");
  }

  #table() {
    const name = this.#text();
    const fences = FENCES.get(name);
    if (fences === undefined) throw new Error(`${name} is unknown`);
    /** @type {Node[]} */ const rows = [];
    for (let going = true; going; ) {
      /** @type {Node[]} */ const cells = [];
      for (let more = true; more; ) {
        cells.push(mathNode("mtd", {}, ...this.row((one) => one === "&" || one === "\\\\" || one === "\\end")));
        more = this.#next === "&";
        if (more) this.#at++;
      }
      rows.push(mathNode("mtr", {}, ...cells));
      going = this.#take() === "\\\\";
    }
    if (this.#text() !== name) throw new Error("another end");
    return fenced(fences[0] ?? "", [mathNode("mtable", {}, ...rows)], fences[1] ?? "");
  }
}

/** @param {string} open @param {Node[]} nodes @param {string} close */
function fenced(open, nodes, close) {
  const sign = (/** @type {string} */ text) => (text ? [mathNode("mo", { fence: "true", stretchy: "true" }, text)] : []);
  return mathNode("mrow", {}, ...sign(open), ...nodes, ...sign(close));
}

/** Letters of another face. @param {string} text @param {string} face */
function faced(text, face) {
  const [upper, lower] = FACE_LETTERS.get(face) ?? [0, 0];
  return text.replace(/[A-Za-z]/g, (letter) => {
    const code = letter < "a" ? upper + letter.charCodeAt(0) - 65 : lower + letter.charCodeAt(0) - 97;
    return FILLED.get(code) ?? String.fromCodePoint(code);
  });
}
