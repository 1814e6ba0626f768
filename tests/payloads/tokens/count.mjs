// Counts the tokens of each text here with gpt-tokenizer's o200k and writes them to counts.json:
//   npm install gpt-tokenizer && node count.mjs
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const here = new URL("./", import.meta.url);
const texts = readdirSync(here).filter((name) => name.endsWith(".txt")).sort();
const counts = texts.map((name) => [name.slice(0, -4), encode(readFileSync(new URL(name, here), "utf8")).length]);
writeFileSync(new URL("counts.json", here), JSON.stringify(Object.fromEntries(counts), null, 2) + "\n");
