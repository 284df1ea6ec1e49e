// Colouring code: per language one expression whose named groups are the classes of its tokens. Gives text and spans,
// never markup. Uses make() of gallery.js, which follows in the same script.
"use strict";

const GRAMMARS = {
  markup: /(?<comment><!--[\s\S]*?-->|<!doctype[^>]*>|<\?[\s\S]*?\?>)|(?<tag><\/?[A-Za-z][\w:.-]*|\/?>)|(?<name>[A-Za-z_:@][\w:.-]*(?==["']))|(?<string>"[^"<]*"|'[^'<]*')|(?<number>&[#\w]+;)/gi,
  css: /(?<comment>\/\*[\s\S]*?\*\/)|(?<word>@[\w-]+|![a-z]+)|(?<string>"[^"]*"|'[^']*')|(?<number>#[0-9a-f]{3,8}\b|-?\d*\.?\d+(?:%|[a-z]+)?\b)|(?<name>--?[\w-]+(?=\s*:)|[a-z-]+(?=\s*:\s))|(?<tag>[.#][A-Za-z_][\w-]*)/gi,
  python: /(?<comment>#.*)|(?<string>[rbfu]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?<word>\b(?:and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b)|(?<tag>\b[A-Za-z_]\w*(?=\())|(?<name>@[\w.]+|\b[A-Z][A-Z0-9_]{2,}\b)|(?<number>\b\d[\d_]*\.?\d*(?:e[+-]?\d+)?\b)/g,
  json: /(?<name>"(?:\\.|[^"\\])*"(?=\s*:))|(?<string>"(?:\\.|[^"\\])*")|(?<number>-?\b\d+\.?\d*(?:e[+-]?\d+)?\b)|(?<word>\b(?:true|false|null)\b)/g,
};

function colour(text, language) {
  const grammar = GRAMMARS[language];
  if (!grammar) return [text];
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(grammar)) {
    if (match.index < end) continue;
    if (match.index > end) parts.push(text.slice(end, match.index));
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    const token = make("span", { className: `t-${kind}` });
    const hex = match[0].match(/^["']?(#(?:[0-9a-f]{3}|[0-9a-f]{6}))["']?$/i);
    if (hex) {
      const swatch = make("span", { className: "swatch" });
      swatch.style.background = hex[1];
      token.append(swatch);
    }
    token.append(match[0]);
    parts.push(token);
    end = match.index + match[0].length;
    // What stands between <style> and </style> is another language.
    if (language === "markup" && match[0] === ">" && /<style[^<]*$/i.test(text.slice(Math.max(0, match.index - 200), match.index))) {
      const close = text.toLowerCase().indexOf("</style", end);
      if (close > end) {
        parts.push(...colour(text.slice(end, close), "css"));
        end = close;
      }
    }
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

function languageOf(text, kind) {
  const start = text.trimStart();
  if (start.startsWith("<")) return "markup";
  if (start.startsWith("{") || start.startsWith("[")) return "json";
  return { svg: "markup", web: "markup", cad: "python" }[kind] || "";
}
